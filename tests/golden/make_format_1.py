"""How the golden lake of format 1 was made. Run once, by hand, when the format was fixed; never again for this number.

    python -m tests.golden.make_format_1

The files it wrote are kept for ever: every later version must read them.
"""

from __future__ import annotations

import io
import json
import tarfile
from datetime import date
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from headrace.lake.local import LocalStore
from headrace.manifests.run import RunIdentity
from headrace.shards.compact import plan_partition, publish_partition
from headrace.shards.group import write_groups
from headrace.shards.plan import batches
from headrace.spec.columns import Column, columns
from headrace.spec.dataset import Dataset, Source
from headrace.spec.formats import Csv, RawBytes

from tests.golden import stranger

HERE: Final = Path(__file__).parent / "format-1"
KEPT: Final = {"shards", "index", "manifests", "releases", "inventories", "LATEST"}
TABLE: Final = Csv(
    columns=(
        *columns(("NA",), i="int64", f="float64", b="bool", d="date", t="timestamp[us, UTC]", m="decimal(18, 4)"),
        Column(name="s", type="string", null_text=("NA",)),
    )
)
ROWS: Final = b"""i,f,b,d,t,m,s
1,0.1,true,2013-01-01,2013-01-01T00:00:00.000001Z,1.2500,00123
NA,NA,NA,NA,NA,NA,NA
-9223372036854775808,-inf,FALSE,1969-12-31,1969-12-31T23:59:59Z,-99999999999999.9999,"a ""b"", \xf0\x9f\x9a\x80"
"""


def archive() -> bytes:
    sink = io.BytesIO()
    with tarfile.open(fileobj=sink, mode="w") as tar:
        for name, data in {"one.txt": b"first", "deep/two.bin": bytes(range(256))}.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
    return sink.getvalue()


def main() -> None:
    if any(HERE.glob("*")):
        raise SystemExit(f"{HERE} is kept for ever: make a new folder for a new format")
    with TemporaryDirectory() as folder:
        landing, lake = LocalStore(Path(folder) / "landing"), LocalStore(Path(folder) / "lake")
        for day, data in (("2013/01/01", ROWS), ("2013/01/02", ROWS.splitlines(keepends=True)[0] + b"7,NA,NA,NA,NA,NA,x\n")):
            landing.put_new(f"table/{day}/a b+c.csv", data)
        landing.put_new("raw/files.tar", archive())
        for day in ("2013-01-01", "2013-01-02"):
            publish("golden_table", Source(prefix="table/%Y/%m/%d/", format=TABLE), day, landing, lake)
        publish("golden_raw", Source(prefix="raw/", format=RawBytes(), unpack=("tar",)), "all", landing, lake)
        for info in lake.list():
            if info.key.split("/")[1] in KEPT:
                path = HERE / "lake" / info.key
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(lake.get(info.key).data)
    for dataset in ("golden_table", "golden_raw"):
        rows = [{"partition": partition, **row} for partition, row in stranger.samples(HERE / "lake", dataset)]
        (HERE / f"{dataset}.json").write_text(json.dumps(rows, indent=1, default=plain, ensure_ascii=False) + "\n")


def publish(name: str, source: Source, partition: str, landing: LocalStore, lake: LocalStore) -> None:
    dataset = Dataset(name=name, source=source, timezone="UTC", start=date(2013, 1, 1))
    plan = plan_partition(dataset, partition, source=landing, lake=lake)
    for batch in batches(plan):
        write_groups(dataset, plan, batch, source=landing, lake=lake)
    publish_partition(dataset, plan, RunIdentity(dag="golden", run_id="golden", kind="local", partition_key=partition), lake=lake)


def plain(value: object) -> str:
    return value.hex() if isinstance(value, bytes) else str(value)


if __name__ == "__main__":
    main()
