"""The code of a transform's release: steps, what changed, the text that ran; and the way back to its input."""

from __future__ import annotations

from functools import partial

from headrace.lake.local import LocalStore
from headrace.manifests.read import latest
from headrace.pages.catalogue import Catalogue, catalogue
from headrace.pages.links import Links
from headrace.pages.partition import partition_page
from headrace.pages.reads import Reads
from headrace.pages.release import release_page
from headrace.pages.sample import sample_page
from headrace.spec.transform import Tensor, Transform, parameters
from headrace.transforms.replay.compared import compare_sample

from tests.headrace.pages.conftest import Page
from tests.headrace.transforms.build import DAY, compact, declared, land, run, step, transform
from tests.headrace.transforms.conftest import Project, project

__all__ = ["project"]  # the fixture
LINKS = Links(root="/headrace", airflow="")
BEFORE = "def f(payload, *, n=1):\n    return {'text': payload.decode() * n}\n"
AFTER = "def f(payload, *, n=1):\n    return {'text': payload.decode().upper() * n}  # <b>\n"


def seen(made: Transform) -> Catalogue:
    return catalogue(declared(made), {"files.compact", f"{made.name}.transform"})


def test_a_release_shows_the_code_that_ran_and_how_it_changed(project: Project, landing: LocalStore, lake: LocalStore) -> None:
    """Two releases by two codes: the second names what differs, line by line, escaped."""
    made = transform(step(parameters=parameters(n=2)))
    land(landing, {"a": b"one"})
    compact(landing, lake)
    project.write(steps=BEFORE)
    run(made, lake)
    project.write(steps=AFTER)
    run(made, lake)

    entry, reads = seen(made).entry("made"), Reads(lake)
    first = Page(release_page(entry, 1, reads, LINKS)).text
    second = Page(release_page(entry, 2, reads, LINKS)).text

    assert (entry.kind, entry.dag, str(entry.start)) == ("transform", "made.transform", "2013-01-01")
    assert f"Code of {DAY}" in first
    assert "steps:fn=2" in first  # two cells
    assert "payload.decode() * n" in first
    assert "Code that changed" not in first
    assert "- return {'text': payload.decode() * n}" in second
    assert "+ return {'text': payload.decode().upper() * n} # <b>" in second


def test_a_transforms_sample_leads_to_the_sample_it_was_made_of(project: Project, landing: LocalStore, lake: LocalStore) -> None:
    """By its parent's ID where one became many, by its own elsewhere; a tensor is told by type and shape."""
    project.write(
        steps="""
        import numpy as np
        def words(payload):
            return [{"text": word} for word in payload.decode().split()]
        def ones(payload):
            return {"pixels": np.ones((2, 3), np.uint8)}
        """
    )
    land(landing, {"a": b"one two"})
    parent = compact(landing, lake).shards[0].first_sample_id
    tensor = Tensor(name="pixels", type="uint8", shape=(2, 3))
    for made in (
        transform(step("words", gives="many")),
        transform(step("ones", columns=(tensor,), packages=("numpy",)), name="other"),
    ):
        first = run(made, lake).shards[0].first_sample_id
        compare = partial(compare_sample, declared=declared(made), lake=lake, source=landing)
        page = Page(sample_page(seen(made), made.name, first, Reads(lake), LINKS, compare))

        assert f"/headrace/sample?dataset=files&sample_id={parent}" in page.links()
        assert (first == parent) == (made.name == "other")
        assert f"headrace replay {made.name} {first}" in page.text
        assert "Then and nownothing differs" in page.text
    assert "pixels uint8, 2 x 3, 1 to 1" in page.text
    assert [str(one["src"])[:22] for one in page.all("img")] == ["data:image/png;base64,"]


def test_a_partition_leads_to_what_it_was_computed_from(project: Project, landing: LocalStore, lake: LocalStore) -> None:
    """A link while the input is in use; said plainly when another one is. Collected code is said to be gone."""
    project.write(steps=BEFORE)
    made = transform(step())
    land(landing, {"a": b"one"})
    compact(landing, lake)
    run(made, lake)
    entry = seen(made).entry("made")

    page = Page(partition_page(entry, 1, DAY, Reads(lake), LINKS))
    assert f"/headrace/releases/files/1/{DAY}" in page.links()
    assert "Computed from 1 partition" in page.text

    land(landing, {"a": b"two"})
    compact(landing, lake)
    for info in list(lake.list("made/code/")):
        lake.delete(info.key)
    page = Page(partition_page(entry, 1, DAY, Reads(lake), LINKS))
    assert f"/headrace/releases/files/1/{DAY}" not in page.links()
    assert "another is in use now" in page.text
    assert "The code is no longer in the lake" in page.text
    found = latest(lake, "files")
    assert found is not None
    assert found.release.number == 2
