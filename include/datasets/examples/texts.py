"""Real text to chunks: the Python sources of the packages installed beside us, thousands of small files in more than one encoding.

`HEADRACE_DECLARATIONS=include/datasets/examples bin/run` lands them and runs this declaration.
"""

from __future__ import annotations

from datetime import date

from headrace.spec.columns import columns
from headrace.spec.dataset import Dataset, Source
from headrace.spec.formats import RawBytes
from headrace.spec.transform import Step, Transform, parameters

OWNER = "language-data"

SOURCES = Dataset(
    name="sources",
    source=Source(prefix="sources/%Y/%m/%d/", format=RawBytes(compress=True)),
    timezone="UTC",
    start=date(2013, 1, 1),
    end=date(2013, 1, 7),
    may_be_empty=True,
    owner=OWNER,
)

SOURCE_CHUNKS = Transform(
    name="source_chunks",
    dataset="sources",
    steps=(
        Step(
            name="read",
            version="1",
            function="include.datasets.functions.texts:read",
            kind="bytes",
            gives="filter",
            columns=columns(text="string", encoding="string"),
        ),
        Step(
            name="chunk",
            version="1",
            function="include.datasets.functions.texts:chunks",
            kind="bytes",
            gives="many",
            column="text",
            also=("encoding",),
            columns=columns(chunk="string", words="int64", first_line="int64", encoding="string"),
            parameters=parameters(words=256, overlap=2),
        ),
    ),
    max_failed_share=0.01,  # a few files are not in the encoding they declare
    owner=OWNER,
)
