"""`headrace replay`: each way to name a sample, each verdict, and the files a person looks at; real processes on a real lake."""

from __future__ import annotations

import importlib.metadata
import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from headrace.sources.quarantine import records
from PIL import Image

from tests.headrace.cli.transformed import DAYS, SIDE, Transformed, picture
from tests.headrace.transforms.build import land

KEY = "in/2013/01/01/b.png"


def shard_of(made: Transformed, sample_id: str) -> str:
    found: str = made.told("replay", "dark", sample_id)["shard"]
    return found


WAYS: dict[str, Callable[[Transformed, str], list[str]]] = {
    "its ID": lambda _made, sample_id: [sample_id],
    "its source key": lambda _made, _id: ["--source-key", KEY],
    "shard and row": lambda made, sample_id: ["--shard", shard_of(made, sample_id)[:10], "--row", "1"],
    "its position": lambda _made, _id: ["--position", "1"],
    "its position in a partition": lambda _made, _id: ["--position", "1", "--partition", DAYS[0]],
}


@pytest.mark.parametrize("way", WAYS)
def test_a_sample_is_named_in_each_way(transformed: Transformed, way: str) -> None:
    """All mean the second picture of the first day, which comes out equal."""
    row = transformed.rows(DAYS[0])[1]

    told = transformed.told("replay", "dark", *WAYS[way](transformed, row["sample_id"]))

    assert (told["sample_id"], told["partition"], told["row"], told["verdict"]) == (row["sample_id"], DAYS[0], 1, "equal")
    assert (told["source"]["key"], told["source"]["state"]) == (KEY, "same")
    assert told["source"]["etag"] == {"recorded": row["source_etag"], "found": row["source_etag"]}
    steps = told["transforms"][0]["steps"]
    assert [(step["step"], step["rows"]) for step in steps] == [("decode", 1), ("darken", 1)]
    assert steps[0]["values"][0]["width"] == "20"
    assert steps[1]["values"][0]["seen"].startswith("uint8 (8, 8, 3), 100 to 100, SHA-256 ")


def test_a_position_counts_over_all_partitions(transformed: Transformed) -> None:
    """The third sample of the release is the first of the second day."""
    assert transformed.told("replay", "dark", "--position", "2")["sample_id"] == transformed.rows(DAYS[1])[0]["sample_id"]


def test_a_person_reads_the_whole_way(transformed: Transformed) -> None:
    """Source key, ETag, digests, each step, what was found, and the verdict last."""
    row = transformed.rows(DAYS[0])[1]

    shown = transformed.headrace("replay", "dark", row["sample_id"]).stdout

    for text in (
        row["sample_id"],
        KEY,
        row["source_etag"],
        "dark.decode",
        "dark.darken",
        "recorded code gives the recorded output",
    ):
        assert text in shown
    assert shown.endswith("verdict: equal\n")


def gone(made: Transformed, _extra: Path) -> None:
    made.landing.delete(KEY)


def source_changed(made: Transformed, _extra: Path) -> None:
    land(made.landing, {"b.png": picture(201)})


def parameter_changed(made: Transformed, _extra: Path) -> None:
    made.edit("declarations/dark.py", "by=2", "by=4")


def helper_changed(made: Transformed, _extra: Path) -> None:
    made.edit("code/darkening_helpers.py", "array // by", "array // by // by")


def another_pillow(made: Transformed, _extra: Path) -> None:
    """An installed distribution that says it is another version; the code is the same."""
    folder = made.folder / "code" / "pillow-99.0.dist-info"
    folder.mkdir()
    (folder / "METADATA").write_text("Metadata-Version: 2.1\nName: pillow\nVersion: 99.0\n")
    (folder / "top_level.txt").write_text("PIL\n")


PILLOW = importlib.metadata.version("pillow")
VERDICTS: dict[str, tuple[Callable[[Transformed, Path], None], str]] = {
    "source gone": (gone, "source gone"),
    "source changed": (source_changed, "source changed"),
    "transform changed": (parameter_changed, "dark: step darken parameter by 2 -> 4"),
    "environment differs": (another_pillow, f"package pillow {PILLOW} -> 99.0"),
}


@pytest.mark.parametrize("verdict", VERDICTS)
def test_each_verdict_with_what_is_behind_it(changing: Transformed, tmp_path: Path, verdict: str) -> None:
    """The recorded code still gives the recorded output, whatever became of source, code or packages."""
    change, finding = VERDICTS[verdict]
    change(changing, tmp_path)

    told = changing.told("replay", "dark", "--source-key", KEY)

    assert told["verdict"] == verdict
    assert finding in told["findings"]
    assert "recorded code gives the recorded output" in told["findings"]


def test_source_and_steps_are_saved_to_look_at(transformed: Transformed, tmp_path: Path) -> None:
    """The source byte for byte, each tensor as an array and as the picture it is, a text as a text."""
    out = tmp_path / "out"

    done = transformed.headrace("replay", "dark", "--source-key", KEY, "--save", str(out))

    assert done.returncode == 0, done.stderr
    assert (out / "source.png").read_bytes() == picture(200)
    with Image.open(io.BytesIO((out / "2-dark-darken.seen.png").read_bytes())) as seen:
        assert (seen.mode, seen.size, seen.getextrema()) == ("RGB", (SIDE, SIDE), ((100, 100),) * 3)
    assert np.load(out / "1-dark-decode.pixels.npy").tolist() == np.full((SIDE, SIDE, 3), 200).tolist()
    assert (out / "2-dark-darken.note.txt").read_text() == "PNG\n100\n"
    assert sorted(path.name for path in out.iterdir()) == sorted(
        Path(told.removeprefix("wrote ")).name for told in done.stdout.splitlines() if told.startswith("wrote ")
    )


def test_todays_code_is_run_beside_and_compared(changing: Transformed, tmp_path: Path) -> None:
    """A tensor by how far it is apart, a text line by line; both outputs are saved."""
    helper_changed(changing, tmp_path)
    out = tmp_path / "out"

    told: dict[str, Any] = changing.told("replay", "dark", "--source-key", KEY, "--with-current-code", "--save", str(out))

    assert told["verdict"] == "transform changed"
    assert "dark: step darken darkening_helpers:divided changed" in told["findings"]
    assert told["transforms"][0]["difference"] == [
        "seen: 100.0% of 192 elements differ, by at most 50, 50 on average",
        "note:", "--- recorded", "+++ current", "@@ -1,2 +1,2 @@", " PNG", "-100", "+50",
    ]  # fmt: skip
    assert np.load(out / "recorded-dark.seen.npy").max() == 100
    assert np.load(out / "current-dark-darken.seen.npy").max() == 50


def test_a_sample_that_failed_is_replayed_from_quarantine(transformed: Transformed, tmp_path: Path) -> None:
    """By the ID it has there: it stands in no shard, fails again, and its traceback is saved."""
    (record,) = records(transformed.lake, "dark", DAYS[0])
    out = tmp_path / "out"

    told = transformed.told("replay", "dark", str(record.sample_id), "--save", str(out))

    assert (told["shard"], told["verdict"]) == (None, "equal")
    assert told["findings"][-1] == "recorded code fails as recorded"
    (failed,) = told["transforms"][0]["steps"][0]["failed"]
    assert failed.startswith("UnidentifiedImageError: cannot identify image file")
    assert "images.py" in (out / "1-dark-decode.traceback.txt").read_text()
    listed = transformed.headrace("quarantine", "dark", DAYS[0]).stdout
    assert str(record.sample_id) in listed
    assert "step decode" in listed
    assert record.remedy.startswith(f"Look at it with `headrace replay dark {record.sample_id}`")
    shown = transformed.headrace("replay", "dark", str(record.sample_id)).stdout
    assert "failed: UnidentifiedImageError: " in shown
    assert "not reached" in shown


def test_code_that_is_the_same_says_so(transformed: Transformed) -> None:
    """Where today's code was asked for; else nothing is said of it."""
    assert "gives the same" in transformed.headrace("replay", "dark", "--source-key", KEY, "--with-current-code").stdout
    assert "current code" not in transformed.headrace("replay", "dark", "--source-key", KEY).stdout


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (("replay", "dark", "0" * 32), 1, "found no such sample in dark release 2; expected a sample of that release"),
        (("replay", "dark", "--position", "3"), 1, "found no such row in dark release 2"),
        (("replay", "dark", "0" * 32, "--partition", "2013-09-09"), 1, "found no partition 2013-09-09"),
        (("replay", "dark"), 2, "name one sample"),
        (("replay", "dark", "0" * 32, "--position", "0"), 2, "name one sample"),
    ],
)
def test_what_goes_wrong_is_said(transformed: Transformed, arguments: tuple[str, ...], code: int, says: str) -> None:
    """An exit status a script can act on, and no traceback."""
    done = transformed.headrace(*arguments)

    assert done.returncode == code
    assert says in " ".join(done.stderr.split())
    assert "Traceback" not in done.stderr
