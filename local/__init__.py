"""The whole house on one machine: a real PostgreSQL, a real S3 server and Airflow's own processes, started and stopped together.

This room knows every other one and is known by none: `bin/run` and the end-to-end tests enter here. It never imports Airflow;
it starts Airflow's programs and talks to them over REST, as any client would.
"""
