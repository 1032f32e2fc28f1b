"""Real pictures to tensors: every picture that the packages installed beside us carry, decoded, resized and normalised.

`HEADRACE_DECLARATIONS=include/datasets/examples bin/run` lands them and runs this declaration.
"""

from __future__ import annotations

from datetime import date

from headrace.spec.columns import columns
from headrace.spec.dataset import Dataset, Source
from headrace.spec.formats import RawBytes
from headrace.spec.transform import Step, Tensor, Transform, parameters

SIZE = 64
OWNER = "vision-data"

PICTURES = Dataset(
    name="pictures",
    source=Source(prefix="pictures/%Y/%m/%d/", format=RawBytes()),
    timezone="UTC",
    start=date(2013, 1, 1),
    end=date(2013, 1, 7),
    may_be_empty=True,
    owner=OWNER,
)

PICTURE_TENSORS = Transform(
    name="picture_tensors",
    dataset="pictures",
    steps=(
        Step(
            name="decode",
            version="1",
            function="include.datasets.functions.images:decode",
            kind="bytes",
            columns=(
                Tensor(name="pixels", type="uint8", shape=(SIZE, SIZE, 3)),
                *columns(width="int64", height="int64", format="string"),
            ),
            parameters=parameters(size=SIZE),
            packages=("numpy", "pillow"),  # another version may give other pixels
        ),
        Step(
            name="normalise",
            version="1",
            function="include.datasets.functions.images:normalise",
            kind="batch",
            columns=(
                Tensor(name="tensor", type="float32", shape=(3, SIZE, SIZE)),
                *columns(width="int64", height="int64", format="string"),
            ),
            # What most image models were trained with.
            parameters=parameters(size=SIZE, mean=(0.485, 0.456, 0.406), deviation=(0.229, 0.224, 0.225)),
            packages=("numpy",),
            recorded=("pyarrow",),  # it moves values and computes none
        ),
    ),
    max_failed_share=0.1,  # packages carry broken pictures on purpose, to test their own readers
    owner=OWNER,
)
