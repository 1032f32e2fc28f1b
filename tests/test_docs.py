"""What people read: every link leads somewhere, every picture is small."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[1]
PAGES = sorted([*REPOSITORY.glob("*.md"), *(REPOSITORY / "docs").rglob("*.md")])
_LINK = re.compile(r"\]\(([^)#\s]+)[^)]*\)")


@pytest.mark.parametrize("page", PAGES, ids=[str(page.relative_to(REPOSITORY)) for page in PAGES])
def test_each_link_to_a_file_leads_to_one(page: Path) -> None:
    """Relative ones; addresses of other hosts are not asked."""
    links = [link for link in _LINK.findall(page.read_text(encoding="utf-8")) if "://" not in link]

    assert [link for link in links if not (page.parent / link).exists()] == []


def test_pictures_are_small_and_shown() -> None:
    """Under 150 kB each, and none that no page shows."""
    texts = "".join(page.read_text(encoding="utf-8") for page in PAGES)
    pictures = sorted((REPOSITORY / "docs" / "images").glob("*.png"))

    assert len(pictures) > 5
    assert [picture.name for picture in pictures if picture.stat().st_size >= 150_000] == []
    assert [picture.name for picture in pictures if picture.name not in texts] == []
