# Headrace for production: Airflow with the locked dependencies and this project's code. Nothing is installed at start-up.
FROM apache/airflow:3.3.2-python3.12

COPY --chown=airflow:0 requirements.txt /opt/headrace/requirements.txt
RUN pip install --no-cache-dir --no-deps --require-hashes -r /opt/headrace/requirements.txt

COPY --chown=airflow:0 pyproject.toml README.md LICENSE /opt/headrace/
COPY --chown=airflow:0 include /opt/headrace/include
RUN pip install --no-cache-dir --no-deps -e /opt/headrace

COPY --chown=airflow:0 dags /opt/headrace/dags
COPY --chown=airflow:0 plugins /opt/headrace/plugins

ENV PYTHONPATH=/opt/headrace:/opt/headrace/include \
    HEADRACE_DECLARATIONS=/opt/headrace/include/datasets \
    AIRFLOW__CORE__DAGS_FOLDER=/opt/headrace/dags \
    AIRFLOW__CORE__PLUGINS_FOLDER=/opt/headrace/plugins \
    AIRFLOW__CORE__LOAD_EXAMPLES=False \
    GX_ANALYTICS_ENABLED=false

ARG HEADRACE_CODE_VERSION=unknown
ENV HEADRACE_CODE_VERSION=${HEADRACE_CODE_VERSION}

# As the base image has it; said here so that nobody has to look.
USER airflow
