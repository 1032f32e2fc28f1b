"""Two days of pictures in a real lake, made darker by a transform of two steps; each test may have a copy and change it."""

from __future__ import annotations

import io
import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from headrace.lake.local import LocalStore
from headrace.manifests.read import manifest_of, published
from headrace.shards.read import read_partition
from headrace.spec.load import load_declarations
from headrace.transforms.run import run_transform
from PIL import Image

from local.places import REPOSITORY
from tests.headrace.transforms.build import RUN, compact, land

DAYS = ("2013-01-01", "2013-01-02")
SIDE = 8
DECLARATION = f"""
from datetime import date
from headrace.spec.columns import columns
from headrace.spec.dataset import Dataset, Source
from headrace.spec.formats import RawBytes
from headrace.spec.transform import Step, Tensor, Transform, parameters

FILES = Dataset(name="files", source=Source(prefix="in/%Y/%m/%d/", format=RawBytes()), timezone="UTC", start=date(2013, 1, 1))
DECODE = Step(
    name="decode", version="1", function="include.datasets.functions.images:decode", kind="bytes",
    columns=(Tensor(name="pixels", type="uint8", shape=({SIDE}, {SIDE}, 3)), *columns(width="int64", height="int64", format="string")),
    parameters=parameters(size={SIDE}), packages=("numpy", "pillow"),
)
DARKEN = Step(
    name="darken", version="1", function="darkening:darker", kind="bytes", column="pixels", also=("format",),
    columns=(Tensor(name="seen", type="uint8", shape=({SIDE}, {SIDE}, 3)), *columns(note="string")),
    parameters=parameters(by=2), packages=("numpy",),
)
DARK = Transform(name="dark", dataset="files", steps=(DECODE, DARKEN), max_failed_share=0.5)
"""
DARKENING = f"""
import numpy as np
from darkening_helpers import divided

def darker(pixels, *, by, format):
    seen = divided(np.frombuffer(pixels, np.uint8).reshape({SIDE}, {SIDE}, 3), by)
    return {{"seen": seen, "note": format + "\\n" + str(seen.max()) + "\\n"}}
"""
HELPERS = """
def divided(array, by):
    return array // by
"""


def picture(gray: int) -> bytes:
    """A PNG of one gray."""
    sink = io.BytesIO()
    Image.new("RGB", (20, 10), (gray, gray, gray)).save(sink, "PNG")
    return sink.getvalue()


@dataclass(frozen=True, kw_only=True)
class Transformed:
    """A folder with `landing`, `lake`, `declarations` and `code`, and the command line on it."""

    folder: Path

    @property
    def landing(self) -> LocalStore:
        return LocalStore(self.folder / "landing")

    @property
    def lake(self) -> LocalStore:
        return LocalStore(self.folder / "lake")

    def rows(self, day: str) -> list[dict[str, Any]]:
        """What the transform's release holds of a day."""
        return read_partition(self.lake, manifest_of(self.lake, published(self.lake, "dark"), day)).to_pylist()

    def copy(self, folder: Path) -> Transformed:
        """The same once more, its source objects under other ETags."""
        shutil.copytree(self.folder, folder)
        return Transformed(folder=folder)

    def edit(self, file: str, old: str, new: str) -> None:
        """Change declaration or code."""
        path = self.folder / file
        assert old in path.read_text()
        path.write_text(path.read_text().replace(old, new))

    def compact(self, day: str) -> None:
        compact(self.landing, self.lake, load_declarations(self.folder / "declarations").datasets[0], day)

    def headrace(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """The command line in a process of its own, which finds code, declarations, lake and source in its environment."""
        kept = {key: value for key, value in os.environ.items() if not key.startswith("HEADRACE_")}
        given = {
            "HEADRACE_LAKE": self.lake.uri,
            "HEADRACE_SOURCE": self.landing.uri,
            "HEADRACE_DECLARATIONS": str(self.folder / "declarations"),
            "PYTHONPATH": os.pathsep.join(map(str, (self.folder / "code", REPOSITORY / "include", REPOSITORY))),
            "PYTHONDONTWRITEBYTECODE": "1",
        }
        return subprocess.run(
            [sys.executable, "-m", "headrace.cli", *arguments],
            env=kept | given, capture_output=True, text=True, check=False, timeout=120,
        )  # fmt: skip

    def told(self, *arguments: str) -> Any:
        """What a command says as JSON."""
        done = self.headrace(*arguments, "--json")
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)


def build(folder: Path) -> Transformed:
    """Two good pictures and a broken one, then one picture the day after."""
    made = Transformed(folder=folder)
    for name, files in (
        ("declarations", {"dark.py": DECLARATION}),
        ("code", {"darkening.py": DARKENING, "darkening_helpers.py": HELPERS}),
    ):
        (folder / name).mkdir(parents=True)
        for file, text in files.items():
            (folder / name / file).write_text(text)
    land(made.landing, {"a.png": picture(100), "b.png": picture(200), "broken.png": b"no picture"})
    land(made.landing, {"c.png": picture(40)}, "2013/01/02")
    sys.path.insert(0, str(folder / "code"))
    try:
        (dark,) = load_declarations(folder / "declarations").transforms
        for day in DAYS:
            made.compact(day)
            run_transform(dark, day, RUN, lake=made.lake, cores=1)
    finally:
        sys.path.remove(str(folder / "code"))
        for name in ("darkening", "darkening_helpers"):
            sys.modules.pop(name, None)
    return made
