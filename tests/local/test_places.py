"""Everything of a house lies in its folder, and deleting it deletes nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest

from local.errors import HouseError
from local.places import Places


def test_sockets_of_a_deep_house_have_a_short_path() -> None:
    """A Unix socket's path may have about 100 bytes."""
    deep = Places(home=Path("/") / ("folder/" * 20))

    assert len(str(deep.sockets / ".s.PGSQL.5432.lock")) < 104
    assert Places(home=Path("/srv/house")).sockets == Path("/srv/house/sockets")


def test_deleting_a_house_leaves_what_others_put_there(tmp_path: Path) -> None:
    """`--home` may name a folder that holds more than the house."""
    places = Places(home=tmp_path)
    places.create()
    (tmp_path / "thesis.tex").write_text("years of work", encoding="utf-8")

    places.delete()

    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]


def test_a_place_that_is_a_file_is_refused_in_one_sentence(tmp_path: Path) -> None:
    """The reader learns which folder and what to do."""
    (tmp_path / "taken").write_text("", encoding="utf-8")

    with pytest.raises(HouseError, match="Choose another with --home"):
        Places(home=tmp_path / "taken").create()
