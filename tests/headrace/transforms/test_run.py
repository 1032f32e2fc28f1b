"""A partition through a transform: nothing lost, nothing twice, the same bytes every time, and nothing done twice."""

from __future__ import annotations

import gc
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from headrace.lake import layout
from headrace.lake.local import LocalStore
from headrace.manifests.errors import NotPublished
from headrace.manifests.gc import collect, find_garbage
from headrace.manifests.read import published
from headrace.shards.errors import ShardDamaged
from headrace.sources.quarantine import records
from headrace.spec.columns import columns
from headrace.spec.transform import Tensor, Transform, parameters
from headrace.transforms import run as run_module
from headrace.transforms import shard as shard_module
from headrace.transforms.chain import part_id
from headrace.transforms.errors import CodeChanged, ShardNotTransformed, TooMuchFailed, WorkerDied
from headrace.transforms.fetch import Fetcher
from headrace.transforms.plan import batches, plan_transform
from headrace.transforms.run import publish_planned, transform_shards
from headrace.transforms.tensors import arrays_of
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.headrace.transforms.build import DAY, FILES, RUN, compact, land, names, rows, run, step, table, transform
from tests.headrace.transforms.conftest import Project

UPPER = """
MARK = '.'

def cased(text):
    return text.upper().removesuffix(MARK)

def f(payload, *, x=1):
    return {"text": cased(payload.decode())}
"""


def test_each_sample_becomes_one_with_its_id_and_order(project: Project, landing: LocalStore, lake: LocalStore) -> None:
    """Identity stays: ID, source key, ETag, row; the digest is of the new values."""
    project.write(steps=UPPER)
    land(landing, {"b": b"two", "a": b"one"})
    before = rows(lake, compact(landing, lake))

    after = rows(lake, run(transform(step()), lake))

    assert [row["text"] for row in after] == ["ONE", "TWO"]
    kept = ("sample_id", "source_key", "source_etag", "source_row")
    assert [[row[name] for name in kept] for row in after] == [[row[name] for name in kept] for row in before]
    assert {row["sample_digest"] for row in after}.isdisjoint(row["sample_digest"] for row in before)


def test_a_sample_becomes_many_that_name_it(project: Project, landing: LocalStore, lake: LocalStore) -> None:
    """Each part has an ID of its own, made of its parent's and its number; none is a fact, too."""
    project.write(steps="def f(payload):\n    for word in payload.decode().split():\n        yield {'text': word}\n")
    land(landing, {"a": b"to be or", "b": b"not", "c": b"  "})
    parents = {row["source_key"]: row["sample_id"] for row in rows(lake, compact(landing, lake))}

    manifest = run(transform(step(gives="many")), lake)

    made = rows(lake, manifest)
    assert [(row["text"], row["part"]) for row in made] == [("to", 0), ("be", 1), ("or", 2), ("not", 0)]
    assert [row["parent_id"] for row in made] == [parents[row["source_key"]] for row in made]
    assert [row["sample_id"] for row in made] == [part_id(row["parent_id"], row["part"]) for row in made]
    assert (manifest.counts.listed, manifest.counts.read, manifest.counts.samples) == (3, 2, 4)
    assert manifest.counts.skipped == {"dropped by a step": 1}


def test_a_filter_leaves_out_and_counts(project: Project, landing: LocalStore, lake: LocalStore) -> None:
    """None means no; what is left keeps its ID."""
    project.write(steps="def f(payload, *, least):\n    return {'text': payload.decode()} if len(payload) >= least else None\n")
    land(landing, {"a": b"x", "b": b"xxx"})
    compact(landing, lake)

    manifest = run(transform(step(gives="filter", parameters=parameters(least=2))), lake)

    assert names(rows(lake, manifest)) == ["b"]
    assert manifest.counts.skipped == {"dropped by a step": 1}


CHAIN = """
import pyarrow as pa
import pyarrow.compute as pc

def read(payload, *, source_key):
    return {"text": payload.decode(), "name": source_key.rpartition("/")[2]} if payload != b"drop" else None

def split(text, *, name):
    if name == "bad":
        raise ValueError("cannot split " + text)
    return ({"word": word, "name": name} for word in text.split())

def long(batch, *, least):
    kept = pc.greater_equal(pc.utf8_length(batch.column("word")), least)
    numbers = pa.array(range(batch.num_rows), pa.int64())
    return pa.table({"word": pc.utf8_upper(batch.column("word")), "name": batch.column("name"), "input_row": numbers}).filter(kept)
"""


def chain(**kwargs: Any) -> Transform:
    words = columns(word="string", name="string")
    return transform(
        step("read", gives="filter", columns=columns(text="string", name="string"), also=("source_key",)),
        step("split", gives="many", columns=words, column="text", also=("name",)),
        step("long", kind="batch", gives="filter", columns=words, parameters=parameters(least=3), packages=("pyarrow",)),
        **kwargs,
    )


def test_a_chain_of_filter_fan_out_and_batch(project: Project, landing: LocalStore, lake: LocalStore) -> None:
    """A part keeps the number it was born with, whatever is filtered after; a failed sample is gone whole, and named."""
    project.write(steps=CHAIN)
    land(landing, {"a": b"one to three", "b": b"drop", "bad": b"never mind", "c": b"of it"})
    compact(landing, lake)

    manifest = run(chain(max_failed_share=0.25), lake)

    assert [(row["word"], row["part"], row["name"]) for row in rows(lake, manifest)] == [("ONE", 0, "a"), ("THREE", 2, "a")]
    assert manifest.counts.quarantined == {"ValueError": 1}
    assert manifest.counts.skipped == {"dropped by a step": 2}
    assert (manifest.counts.listed, manifest.counts.read, manifest.counts.samples) == (4, 1, 2)


def test_a_failure_is_kept_with_its_traceback(project: Project, landing: LocalStore, lake: LocalStore) -> None:
    """The record names object, sample, step and reason; the traceback begins in the user's code."""
    project.write(steps="def f(payload):\n    return {'text': payload.decode('utf-8')}\n")
    land(landing, {"good": b"fine", "latin": "caf\u00e9".encode("latin-1")})
    before = {row["source_key"]: row["sample_id"] for row in rows(lake, compact(landing, lake))}

    manifest = run(transform(step(), max_failed_share=0.5), lake)

    (record,) = records(lake, "made", DAY)
    assert record.key == "in/2013/01/01/latin"
    assert record.sample_id == before[record.key]
    assert record.reason == "UnicodeDecodeError"
    assert "step f" in record.subject
    assert "can't decode byte 0xe9 in position 3" in record.found
    assert "steps.py" in record.traceback
    assert "chain.py" not in record.traceback
    assert names(rows(lake, manifest)) == ["good"]


def test_too_many_failures_publish_nothing(project: Project, landing: LocalStore, lake: LocalStore) -> None:
    """The error names the first; the records are there to look at."""
    project.write(steps="def f(payload):\n    raise KeyError('no such thing')\n")
    land(landing, {"a": b"x", "b": b"y"})
    compact(landing, lake)

    with pytest.raises(TooMuchFailed, match=r"2 of 2 samples failed; first in/2013/01/01/a row 0 .*KeyError: 'no such thing'"):
        run(transform(step(), max_failed_share=0.5), lake)
    with pytest.raises(NotPublished):
        published(lake, "made")
    assert len(list(records(lake, "made", DAY))) == 2


def test_a_batch_function_that_raises_fails_only_the_samples_that_make_it(
    project: Project, landing: LocalStore, lake: LocalStore
) -> None:
    """The batch is halved until they stand alone; all others come through, in order."""
    project.write(
        steps="""
        import pyarrow as pa

        def f(batch):
            values = [int(value) for value in batch.column("payload").to_pylist()]
            return pa.table({"n": pa.array(values, pa.int64())})
        """
    )
    land(landing, {f"{n:03d}": b"bad" if n in {7, 8, 30} else b"%d" % n for n in range(40)})
    compact(landing, lake)
    made = transform(step(kind="batch", columns=columns(n="int64"), packages=("pyarrow",)), max_failed_share=0.1)

    manifest = run(made, lake)

    assert [row["n"] for row in rows(lake, manifest)] == [n for n in range(40) if n not in {7, 8, 30}]
    assert manifest.counts.quarantined == {"ValueError": 3}


def test_running_again_transforms_nothing(
    project: Project, landing: LocalStore, lake: LocalStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An unchanged partition has no work and keeps its manifest and release."""
    project.write(steps=UPPER)
    land(landing, {"a": b"one"})
    compact(landing, lake)
    first = run(transform(step()), lake)
    monkeypatch.setattr(Fetcher, "_fetch", None)  # whoever fetches a shard fails

    assert batches(plan_transform(transform(step()), DAY, lake=lake)) == []
    assert run(transform(step()), lake) == first
    assert published(lake, "made").number == 1


def results(lake: LocalStore) -> set[str]:
    """One for each shard that was transformed, ever."""
    return {info.key for info in lake.list("made/groups/")}


@pytest.fixture
def thirty(landing: LocalStore) -> dict[str, bytes]:
    """Enough for several shards of several row groups."""
    objects = {f"{n:03d}": bytes([65 + n % 26]) * 90_000 for n in range(40)}
    land(landing, objects)
    return objects


EFFECTS = {
    "nothing": (UPPER, {}, "none"),
    "a comment": (UPPER + "# a comment\n", {}, "none"),
    "the function": (UPPER.replace("payload.decode()", "payload.decode()[::-1]"), {}, "all"),
    "a helper": (UPPER.replace("upper", "lower"), {}, "all"),
    "a constant": (UPPER.replace("MARK = '.'", "MARK = '!'"), {}, "all"),
    "a default": (UPPER.replace("x=1", "x=2"), {}, "all"),
    "the version": (UPPER, {"version": "2"}, "all"),
    "a parameter": (UPPER, {"parameters": parameters(x=2)}, "all"),
}


@pytest.mark.parametrize("what", EFFECTS)
def test_a_change_has_exactly_its_effect(
    project: Project, landing: LocalStore, lake: LocalStore, thirty: dict[str, bytes], what: str
) -> None:
    """A comment recomputes nothing; code, helper, version or parameter all, as a new release."""
    project.write(steps=UPPER)
    given = compact(landing, lake)
    run(transform(step()), lake)
    text, changed, effect = EFFECTS[what]
    project.write(steps=text)

    plan = plan_transform(transform(step(**changed)), DAY, lake=lake)

    assert len(given.shards) > 2
    assert len(plan.missing) == {"none": 0, "all": len(given.shards)}[effect]
    assert plan.missing_bytes == (0 if effect == "none" else given.size_bytes)
    assert plan.why == (() if effect == "none" else ("transform changed",))
    done = results(lake)
    run(transform(step(**changed)), lake)
    assert published(lake, "made").number == (1 if effect == "none" else 2)
    assert len(results(lake) - done) == len(plan.missing)


def test_one_changed_source_object_recomputes_its_shard_alone(
    project: Project, landing: LocalStore, lake: LocalStore, thirty: dict[str, bytes]
) -> None:
    """Cost grows with what changed."""
    project.write(steps=UPPER)
    compact(landing, lake)
    run(transform(step()), lake)
    land(landing, {"017": b"changed" + bytes(89_993)})
    compact(landing, lake)

    plan = plan_transform(transform(step()), DAY, lake=lake)

    assert (len(plan.missing), plan.why) == (1, ("input changed",))
    done = results(lake)
    texts = {row["source_key"][-3:]: row["text"] for row in rows(lake, run(transform(step()), lake))}
    assert len(results(lake) - done) == 1
    assert texts == {name: data.decode().upper() for name, data in {**thirty, "017": b"changed" + bytes(89_993)}.items()}


def test_going_back_to_old_code_finds_its_results(
    project: Project, landing: LocalStore, lake: LocalStore, thirty: dict[str, bytes]
) -> None:
    """Results are kept under the code that made them, not under the newest."""
    compact(landing, lake)
    project.write(steps=UPPER)
    first = run(transform(step()), lake)
    project.write(steps=UPPER.replace("upper", "lower"))
    second = run(transform(step()), lake)
    project.write(steps=UPPER)

    assert plan_transform(transform(step()), DAY, lake=lake).missing == ()
    assert run(transform(step()), lake) == first != second


def test_another_package_version_recomputes_only_where_it_is_named(
    project: Project, landing: LocalStore, lake: LocalStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`packages` are part of the identity, `recorded` are written down."""
    import importlib.metadata

    project.write(steps="import numpy\ndef f(payload):\n    return {'text': str(numpy.int64(len(payload)))}\n")
    land(landing, {"a": b"x"})
    compact(landing, lake)
    named, recorded = transform(step(packages=("numpy",))), transform(step(recorded=("numpy",)), name="other")
    run(named, lake)
    run(recorded, lake)
    real = importlib.metadata.version
    monkeypatch.setattr(importlib.metadata, "version", lambda name: "99.0" if name == "numpy" else real(name))

    assert plan_transform(named, DAY, lake=lake).why == (f"numpy {np.__version__} -> 99.0",)
    assert plan_transform(recorded, DAY, lake=lake).why == ()


@settings(max_examples=8, deadline=None)
@given(sizes=st.lists(st.integers(1, 300_000), min_size=1, max_size=25), order=st.randoms(use_true_random=False))
def test_shards_are_the_same_however_the_work_is_dealt(
    tmp_path_factory: pytest.TempPathFactory, sizes: list[int], order: Any
) -> None:
    """Law 1 and 2: any order of shards, with or without other processes, every sample in exactly one shard."""
    landing, lake, again = (LocalStore(tmp_path_factory.mktemp(name)) for name in ("landing", "lake", "again"))
    land(landing, {f"{n:03d}": bytes([n % 251]) * size for n, size in enumerate(sizes)})
    made = transform(
        step(
            function="tests.headrace.transforms.functions:lengths",
            kind="batch",
            columns=(Tensor(name="head", type="uint8", shape=(None,)), *columns(size="int64")),
            packages=("numpy", "pyarrow"),
        )
    )
    given_first, given_again = compact(landing, lake), compact(landing, again)
    positions = list(range(len(given_again.shards)))
    order.shuffle(positions)
    code = plan_transform(made, DAY, lake=again).fingerprint.digest
    for position in positions:
        transform_shards(made, given_again, [position], fingerprint=code, lake=again, cores=1)

    first, second = run(made, lake), publish_planned(made, given_again, code, RUN, lake=again).manifest

    assert given_first == given_again
    assert first == second
    assert [row["size"] for row in rows(lake, first)] == sizes
    assert len({row["sample_id"] for row in rows(lake, first)}) == len(sizes)


def test_many_cores_give_the_same_manifest(
    project: Project, landing: LocalStore, lake: LocalStore, thirty: dict[str, bytes], tmp_path: Path
) -> None:
    """Two processes and one."""
    project.write(steps=UPPER)
    other = LocalStore(tmp_path / "other")
    compact(landing, lake)
    compact(landing, other)

    assert run(transform(step()), lake, cores=2) == run(transform(step()), other, cores=1)


def test_a_worker_that_dies_is_named_and_nothing_hangs(
    project: Project, landing: LocalStore, lake: LocalStore, thirty: dict[str, bytes]
) -> None:
    """Native code that crashes ends its process, not the task."""
    project.write(steps="import ctypes\ndef f(payload):\n    return {'text': str(ctypes.string_at(0))}\n")
    compact(landing, lake)

    with pytest.raises(WorkerDied, match=r"row group 0 of .*killed by signal 11"):
        run(transform(step()), lake, cores=2)


def test_code_that_is_replaced_while_the_run_goes_on_is_refused(project: Project, landing: LocalStore, lake: LocalStore) -> None:
    """A run never mixes two codes."""
    project.write(steps=UPPER)
    land(landing, {"a": b"x"})
    given = compact(landing, lake)
    code = plan_transform(transform(step()), DAY, lake=lake).fingerprint.digest
    project.write(steps=UPPER.replace("upper", "lower"))

    with pytest.raises(CodeChanged, match="Clear the run from its plan task"):
        transform_shards(transform(step()), given, [0], fingerprint=code, lake=lake)
    with pytest.raises(CodeChanged):
        publish_planned(transform(step()), given, code, RUN, lake=lake)


DAMAGES: dict[str, Any] = {
    "a bit": lambda data: data[: len(data) // 2] + bytes([data[len(data) // 2] ^ 1]) + data[len(data) // 2 + 1 :],
    "the end": lambda data: data[:-1],
    "everything": lambda data: b"",
}


@pytest.mark.parametrize("what", DAMAGES)
@pytest.mark.parametrize("in_memory", [True, False])
def test_a_damaged_input_shard_is_refused(
    project: Project, landing: LocalStore, lake: LocalStore, monkeypatch: pytest.MonkeyPatch, *, what: str, in_memory: bool
) -> None:
    """Every byte is checked before a function sees it, in memory and in a file."""
    project.write(steps=UPPER)
    land(landing, {"a": b"one"})
    manifest = compact(landing, lake)
    key = layout.shard("files", manifest.shards[0].sha256)
    data = lake.get(key).data
    lake.delete(key)
    lake.put_new(key, DAMAGES[what](data))
    monkeypatch.setattr(shard_module, "IN_MEMORY_BYTES", 10**9 if in_memory else 0)

    with pytest.raises(ShardDamaged, match=manifest.shards[0].sha256):
        run(transform(step()), lake)


def test_a_result_whose_shard_is_gone_is_made_again(project: Project, landing: LocalStore, lake: LocalStore) -> None:
    """The cache is believed only as far as its shards are there."""
    project.write(steps=UPPER)
    land(landing, {"a": b"one"})
    given = compact(landing, lake)
    plan = plan_transform(transform(step()), DAY, lake=lake)
    transform_shards(transform(step()), given, [0], fingerprint=plan.fingerprint.digest, lake=lake)
    for info in list(lake.list("made/shards/")):
        lake.delete(info.key)

    with pytest.raises(ShardNotTransformed, match="1 shards missing"):
        publish_planned(transform(step()), given, plan.fingerprint.digest, RUN, lake=lake)
    assert plan_transform(transform(step()), DAY, lake=lake).missing == (0,)
    assert [row["text"] for row in rows(lake, run(transform(step()), lake))] == ["ONE"]


@pytest.mark.parametrize(("kind", "missing"), [("shards", (0,)), ("index", ())])
def test_what_the_release_in_use_has_lost_is_made_again(
    project: Project, landing: LocalStore, lake: LocalStore, kind: str, missing: tuple[int, ...]
) -> None:
    """Nothing changed, but an object is gone: the same bytes under the same key."""
    project.write(steps=UPPER)
    land(landing, {"a": b"one"})
    compact(landing, lake)
    first = run(transform(step()), lake)
    [lost] = lake.list(f"made/{kind}/")
    content = lake.get(lost.key).data
    lake.delete(lost.key)

    plan = plan_transform(transform(step()), DAY, lake=lake)
    second = run(transform(step()), lake)

    assert plan.why == ("shards or indexes are gone",)
    assert plan.missing == missing
    assert lake.get(lost.key).data == content
    assert second.digest == first.digest


def test_a_transform_of_a_transform(project: Project, landing: LocalStore, lake: LocalStore) -> None:
    """Its input is another one's output, by name."""
    project.write(steps=UPPER + "def g(text):\n    return {'text': text[::-1]}\n")
    land(landing, {"a": b"abc"})
    compact(landing, lake)
    run(transform(step()), lake)

    second = run(transform(step("g", column="text"), name="second", dataset="made"), lake)

    assert [row["text"] for row in rows(lake, second)] == ["CBA"]
    assert second.facts["transform"]["input"]["dataset"] == "made"


def test_an_empty_partition_has_columns_and_no_rows(project: Project, landing: LocalStore, lake: LocalStore) -> None:
    """A day on which nothing landed is a day of its transform, too."""
    project.write(steps=UPPER)
    compact(landing, lake)

    manifest = run(transform(step()), lake)

    assert (manifest.counts.listed, manifest.shards) == (0, ())
    assert table(lake, manifest).schema.names[-1] == "text"


def test_tensors_come_back_as_arrays(project: Project, landing: LocalStore, lake: LocalStore) -> None:
    """Stored as bytes that say what they are, in the shards' metadata and the manifest's facts."""
    project.write(
        steps="""
        import numpy as np

        def f(payload):
            return {"square": np.full((2, 3), len(payload), dtype=np.float32), "all": np.frombuffer(payload, np.uint8)}
        """
    )
    land(landing, {"a": b"x", "b": b"xyz"})
    compact(landing, lake)
    square, every = Tensor(name="square", type="float32", shape=(2, 3)), Tensor(name="all", type="uint8", shape=(None,))

    manifest = run(transform(step(columns=(square, every), packages=("numpy",))), lake)

    found = table(lake, manifest)
    assert arrays_of(found.column("square"), "float32", (2, 3)).tolist() == [[[1.0] * 3] * 2, [[3.0] * 3] * 2]
    assert found.column("all").to_pylist() == [b"x", b"xyz"]
    assert found.schema.field("square").metadata == {b"headrace.tensor": b"float32:2,3"}
    assert manifest.facts["transform"]["tensors"]["all"] == {"type": "uint8", "shape": [None]}


def test_the_code_that_ran_is_kept_beside_the_manifest(project: Project, landing: LocalStore, lake: LocalStore) -> None:
    """Whole modules, comments included, with the versions it ran under."""
    from headrace.transforms.code_store import kept_code

    project.write(steps="import helpers\n# a remark\ndef f(payload):\n    return helpers.g(payload)\n")
    project.write(helpers="def g(payload):\n    return {'text': ''}\n")
    land(landing, {"a": b"x"})
    compact(landing, lake)

    manifest = run(transform(step()), lake)

    kept = kept_code(lake, "made", manifest.facts["transform"]["fingerprint"])
    assert "# a remark" in kept.content["modules"]["steps"]
    assert set(kept.content["modules"]) == {"steps", "helpers"}
    assert kept.run["packages"]["pyarrow"] == pa.__version__


def test_gc_keeps_what_a_release_needs_and_its_results(
    project: Project, landing: LocalStore, lake: LocalStore, thirty: dict[str, bytes]
) -> None:
    """After collecting, the release in use is whole and its shards need no second transformation."""
    from datetime import timedelta

    compact(landing, lake)
    project.write(steps=UPPER.replace("upper", "lower"))
    run(transform(step()), lake)
    project.write(steps=UPPER)
    manifest = run(transform(step()), lake)

    removed = collect(lake, find_garbage(lake, "made", grace=timedelta(0), keep_releases=1), grace=timedelta(0), keep_releases=1)

    assert removed > 0
    assert len(rows(lake, manifest)) == len(thirty)
    land(landing, {"000": b"changed" + bytes(89_993)})
    compact(landing, lake)
    assert len(plan_transform(transform(step()), DAY, lake=lake).missing) == 1


def test_progress_is_told_while_a_shard_is_under_way_and_when_it_is_done(
    project: Project,
    landing: LocalStore,
    lake: LocalStore,
    thirty: dict[str, bytes],
    *,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """For the task's log: how many of how many samples, and what became of each shard."""
    project.write(steps=UPPER)
    given = compact(landing, lake)
    monkeypatch.setattr(run_module, "_SECONDS_BETWEEN_LINES", 0.0)
    caplog.set_level("INFO", logger="headrace")

    run(transform(step()), lake)

    lines = [record.getMessage() for record in caplog.records if record.getMessage().startswith("Shard ")]
    first, count = given.shards[0].rows, len(given.shards)
    ends = [line for line in lines if "became" in line]
    assert len(ends) == count < len(lines)
    assert ends[0].startswith(f"Shard 1 of {count}: {first} samples became {first}, 0 failed; ")
    assert any(line.startswith(f"Shard 1 of {count}: ") and f" of {first} samples, " in line for line in lines)


def test_memory_does_not_grow_with_the_shard(project: Project, landing: LocalStore, lake: LocalStore) -> None:
    """A shard of 160 MB in row groups of 4 MB: what the process holds beside the mapped file stays below half of it."""
    project.write(steps=UPPER)
    size = 2_000_000
    land(landing, {f"{n:03d}": bytes([65 + n % 26]) * size for n in range(80)})
    large = replace(FILES, shard_bytes=200_000_000, row_group_bytes=4_000_000)
    given = compact(landing, lake, large)
    held = Held()

    with held:
        run(transform(step(), shard_bytes=200_000_000, row_group_bytes=4_000_000), lake)

    assert len(given.shards) == 1
    assert given.size_bytes > 80 * size
    assert held.grown_bytes < 80_000_000


class Held:
    """Watches how much anonymous memory this process holds more than at the start, every few milliseconds (Linux, `proc(5)`)."""

    def __init__(self) -> None:
        self.grown_bytes = 0
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._watch)

    def __enter__(self) -> Held:
        gc.collect()
        pa.default_memory_pool().release_unused()
        self._start = self._anonymous()
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._done.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._done.wait(0.005):
            self.grown_bytes = max(self.grown_bytes, self._anonymous() - self._start)

    def _anonymous(self) -> int:
        (line,) = [one for one in Path("/proc/self/status").read_text().splitlines() if one.startswith("RssAnon")]
        return int(line.split()[1]) * 1024
