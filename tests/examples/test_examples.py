"""The image and text examples on real bytes: what comes out, and what is quarantined by name."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from headrace.lake.local import LocalStore
from headrace.manifests.manifest import Manifest
from headrace.sources.quarantine import records
from headrace.spec.load import load_declarations
from headrace.transforms.run import run_transform
from headrace.transforms.tensors import arrays_of

from local.landing_files import DAYS, picture_objects, source_text_objects
from local.places import REPOSITORY
from tests.headrace.transforms.build import DAY, RUN, compact, rows, table
from tests.local.test_landing_files import WEEK

DECLARED = load_declarations(REPOSITORY / "include" / "datasets" / "examples")


def transformed(landing: LocalStore, lake: LocalStore, dataset: str, **objects: bytes) -> Manifest:
    """One day with these objects beside what has landed, through the dataset's transform."""
    for name, data in objects.items():
        landing.put_new(f"{dataset}/2013/01/01/{name}", data)
    declared = next(one for one in DECLARED.datasets if one.name == dataset)
    compact(landing, lake, declared)
    made = next(one for one in DECLARED.transforms if one.dataset == dataset)
    return run_transform(made, DAY, RUN, lake=lake, cores=1).manifest


def picture(mode: str, kind: str, size: tuple[int, int] = (10, 20)) -> bytes:
    from PIL import Image

    sink = io.BytesIO()
    Image.new(mode, size, 0).save(sink, kind)
    return sink.getvalue()


def test_pictures_of_every_mode_become_tensors(landing: LocalStore, lake: LocalStore) -> None:
    """Gray, palette, transparent and moving pictures; transparent parts are white."""
    modes = {
        "gray.png": ("L", "PNG"),
        "palette.gif": ("P", "GIF"),
        "see_through.png": ("RGBA", "PNG"),
        "photo.jpg": ("RGB", "JPEG"),
    }

    manifest = transformed(landing, lake, "pictures", **{name: picture(*how) for name, how in modes.items()})

    found = table(lake, manifest)
    tensors = arrays_of(found.column("tensor"), "float32", (3, 64, 64))
    assert found.column("format").to_pylist() == ["PNG", "GIF", "JPEG", "PNG"]
    assert set(found.column("width").to_pylist()) == {10}
    white = (1 - np.array([0.485, 0.456, 0.406])) / np.array([0.229, 0.224, 0.225])
    np.testing.assert_allclose(tensors[3].mean(axis=(1, 2)), white, rtol=1e-5)


def test_a_bad_picture_is_quarantined_and_named(landing: LocalStore, lake: LocalStore) -> None:
    """Cut short, and no picture at all; the good ones go on."""
    good = {f"good{number}.png": picture("L", "PNG") for number in range(30)}

    manifest = transformed(
        landing, lake, "pictures", **good, **{"cut.png": picture("RGB", "PNG", (300, 300))[:90], "text.png": b"<svg/>"}
    )

    assert manifest.counts.samples == 30
    found = {record.key.rpartition("/")[2]: record for record in records(lake, "picture_tensors", DAY)}
    assert set(found) == {"cut.png", "text.png"}
    assert found["text.png"].reason == "UnidentifiedImageError"
    assert "images.py" in found["cut.png"].traceback


def test_text_in_other_encodings(landing: LocalStore, lake: LocalStore) -> None:
    """Declared Latin-1 and a byte order mark are read; undeclared Latin-1 is quarantined and named; an empty text is left out."""
    files = {f"plain{number:03d}.py": b"x = 1\n" for number in range(120)}
    odd = {
        "declared.py": b"# -*- coding: latin-1 -*-\ns = 'caf\xe9'\n",
        "mark.py": b"\xef\xbb\xbfx = 2\n",
        "blank.py": b"\n\n",
        "bad.py": b"s = 'caf\xe9'\n",
    }

    manifest = transformed(landing, lake, "sources", **files, **odd)

    (record,) = records(lake, "source_chunks", DAY)
    assert record.key == "sources/2013/01/01/bad.py"
    assert record.reason == "UnicodeDecodeError"
    assert manifest.counts.skipped == {"dropped by a step": 1}
    chunks = {row["source_key"].rpartition("/")[2]: row for row in rows(lake, manifest)}
    assert chunks["declared.py"]["chunk"].endswith("s = 'caf\u00e9'\n")
    assert chunks["mark.py"]["chunk"] == "x = 2\n"
    assert chunks["declared.py"]["encoding"] == "iso8859-1"


def test_chunks_cover_the_text(landing: LocalStore, lake: LocalStore) -> None:
    """Every line of a long file stands in a chunk, in order, two lines said twice."""
    text = "".join(f"value_{number} = {number} + {number}\n" for number in range(1000))

    manifest = transformed(landing, lake, "sources", **{"long.py": text.encode()})

    found = rows(lake, manifest)
    assert [row["part"] for row in found] == list(range(len(found)))
    assert all(row["words"] <= 256 for row in found)
    covered = {line for row in found for line in range(row["first_line"], row["first_line"] + row["chunk"].count("\n"))}
    assert covered == set(range(1, 1001))
    assert found[1]["first_line"] == found[0]["chunk"].count("\n") - 1


@pytest.mark.parametrize(("dataset", "objects"), [("pictures", picture_objects), ("sources", source_text_objects)])
def test_real_files_of_the_installed_packages(landing: LocalStore, lake: LocalStore, dataset: str, objects: Any) -> None:
    """What lies beside us: hardly anything is refused, and every object is accounted for."""
    days = WEEK[:1] if dataset == "sources" else WEEK
    landed = list(objects(days))[:400]
    for one in landed:
        landing.put_new(f"{dataset}/2013/01/01/{Path(one.key).relative_to(Path(one.key).parts[0]).as_posix()}", one.content)

    manifest = transformed(landing, lake, dataset)

    counts = manifest.counts
    assert DAYS == 7
    assert counts.listed > 20
    assert counts.read + sum(counts.skipped.values()) + sum(counts.quarantined.values()) == counts.listed
