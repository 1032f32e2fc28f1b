"""Pictures of the screens in the documentation: small, and each shown."""

from __future__ import annotations

from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[1]
PAGES = sorted([*REPOSITORY.glob("*.md"), *(REPOSITORY / "docs").rglob("*.md")])


def test_pictures_are_small_and_shown() -> None:
    """Under 150 kB each, and none that no page shows."""
    texts = "".join(page.read_text(encoding="utf-8") for page in PAGES)
    pictures = sorted((REPOSITORY / "docs" / "images").glob("*.png"))

    assert len(pictures) > 5
    assert [picture.name for picture in pictures if picture.stat().st_size >= 150_000] == []
    assert [picture.name for picture in pictures if picture.name not in texts] == []
