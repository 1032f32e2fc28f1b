"""The files of the other examples: each on one day, whole, the same ones whenever they are asked for."""

from __future__ import annotations

from datetime import date, timedelta
from pathlib import Path

from local.landing_files import DAYS, picture_objects, source_text_objects

WEEK = [date(2013, 1, 1) + timedelta(days=step) for step in range(DAYS)]


def test_every_file_lands_on_exactly_one_day(tmp_path: Path) -> None:
    """The days of the week together hold all of it; a day alone holds its own."""
    for number in range(50):
        (tmp_path / "package" / f"sub{number % 3}").mkdir(parents=True, exist_ok=True)
        (tmp_path / "package" / f"sub{number % 3}" / f"{number}.PNG").write_bytes(b"%d" % number)
    (tmp_path / "package" / "text.txt").write_bytes(b"no picture")

    week = list(picture_objects(WEEK, tmp_path))
    days = [list(picture_objects([day], tmp_path)) for day in WEEK]

    assert len({one.key for one in week}) == len(week) == 50
    assert sorted(one.key for day in days for one in day) == sorted(one.key for one in week)
    assert {one.content for one in week} == {b"%d" % number for number in range(50)}
    assert all(
        one.key.startswith(f"pictures/{day:%Y/%m/%d}/package/sub") for day, found in zip(WEEK, days, strict=True) for one in found
    )


def test_sources_are_python_files(tmp_path: Path) -> None:
    """Byte for byte."""
    (tmp_path / "a.py").write_bytes(b"# caf\xe9\n")
    (tmp_path / "a.pyc").write_bytes(b"x")

    (found,) = source_text_objects(WEEK, tmp_path)

    assert (found.key[:8], found.key[-4:], found.content) == ("sources/", "a.py", b"# caf\xe9\n")
