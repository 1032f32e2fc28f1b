"""Training states, all or nothing, over a folder and a real S3 server."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from headrace.checkpoint.checkpoints import Checkpoints
from headrace.checkpoint.errors import CheckpointContended, CheckpointsDamaged, PartRefused
from headrace.checkpoint.rng import rng_states, set_rng_states
from headrace.lake import layout
from headrace.lake.errors import PointerMoved, StoredBytesDiffer
from headrace.lake.local import LocalStore
from headrace.lake.store import Store
from headrace.spec.errors import DeclarationError


@pytest.fixture(params=["local", pytest.param("s3", marks=pytest.mark.servers)])
def store(request: pytest.FixtureRequest) -> Store:
    return request.getfixturevalue("lake" if request.param == "local" else "s3_store")


ABOUT = {"code": "abc123", "config": {"lr": 0.1}, "data": {"releases": {"flight_delay": "f" * 64}}}


def parts(step: int) -> dict[str, Any]:
    return {
        "model": np.full((3, 2), step, dtype=np.float32),
        "frozen": b"embedding" * 1000,
        "loader": {"format": 1, "order": 7, "seed": 1, "epoch": 0, "position": step},
    }


def test_a_state_comes_back_as_it_was(store: Store) -> None:
    """Arrays, bytes, plain values, and what it belongs to; by a fresh object as in a fresh process."""
    assert Checkpoints(store, "run").restore() is None
    Checkpoints(store, "run").save(step=5, parts=parts(5), about=ABOUT)

    restored = Checkpoints(store, "run").restore()

    assert restored is not None
    assert (restored.step, restored.saved.number, restored.skipped, restored.saved.about) == (5, 1, (), ABOUT)
    assert restored.part("model").tolist() == [[5.0, 5.0]] * 3
    assert restored.part("model").dtype == np.float32
    assert restored.part("frozen") == b"embedding" * 1000
    assert restored.part("loader")["position"] == 5
    with pytest.raises(KeyError, match="no part 'optimizer'"):
        restored.part("optimizer")


def test_an_unchanged_part_is_stored_once_and_every_state_lists_all(store: Store) -> None:
    """Incremental in bytes, self-contained in documents."""
    checkpoints = Checkpoints(store, "run", keep_last=10)
    saved = [checkpoints.save(step=step, parts=parts(step), about={}) for step in range(4)]

    stored = [info.size_bytes for info in store.list(layout.checkpoint_parts("run"))]
    assert stored.count(9000) == 1
    assert all([part.name for part in one.parts] == ["frozen", "loader", "model"] for one in saved)


def test_the_last_n_stay(store: Store) -> None:
    """Documents beyond them go; parts of an hour ago that nothing needs go too (here: none is that old)."""
    checkpoints = Checkpoints(store, "run", keep_last=2)
    for step in range(5):
        checkpoints.save(step=step, parts=parts(step), about={})

    assert [info.key for info in store.list(layout.checkpoints("run"))] == [layout.checkpoint("run", n) for n in (4, 5)]


def test_old_unneeded_parts_leave(lake: LocalStore, tmp_path: Path) -> None:
    """The frozen part is as old and stays."""
    checkpoints = Checkpoints(lake, "run", keep_last=1)
    checkpoints.save(step=1, parts=parts(1), about={})
    old = time.time() - 7200
    for path in (tmp_path / "lake" / "_checkpoints" / "run" / "parts").iterdir():
        os.utime(path, (old, old))

    checkpoints.save(step=2, parts=parts(2), about={})

    assert len(list((tmp_path / "lake" / "_checkpoints" / "run" / "parts").iterdir())) == 3
    restored = checkpoints.restore()
    assert restored is not None
    assert restored.step == 2


def test_a_damaged_state_is_skipped_and_named(lake: LocalStore, tmp_path: Path) -> None:
    """A flipped byte in a part, then in a document, then a missing part: each time the one before is restored."""
    checkpoints = Checkpoints(lake, "run", keep_last=10)
    saved = [checkpoints.save(step=step, parts={"model": bytes([step]) * 100}, about={}) for step in range(1, 5)]
    root = tmp_path / "lake"
    flip(root / layout.checkpoint_part("run", saved[3].parts[0].sha256))
    flip(root / layout.checkpoint("run", 3))
    (root / layout.checkpoint_part("run", saved[1].parts[0].sha256)).unlink()

    restored = Checkpoints(lake, "run").restore()

    assert restored is not None
    assert restored.step == 1
    assert [one.checkpoint for one in restored.skipped] == [layout.checkpoint("run", n) for n in (4, 3, 2)]
    assert "SHA-256" in restored.skipped[0].why
    assert "no object" in restored.skipped[2].why


def flip(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(bytes(data))


def test_nothing_whole_is_an_error_not_a_start_from_zero(lake: LocalStore, tmp_path: Path) -> None:
    """Weeks of training must not be thrown away by a quiet None."""
    saved = Checkpoints(lake, "run").save(step=1, parts={"model": b"x"}, about={})
    flip(tmp_path / "lake" / layout.checkpoint_part("run", saved.parts[0].sha256))

    with pytest.raises(CheckpointsDamaged, match=r"00000001\.json"):
        Checkpoints(lake, "run").restore()


def test_a_broken_pointer_does_not_hide_the_states(lake: LocalStore, tmp_path: Path) -> None:
    """It is named among what was skipped."""
    Checkpoints(lake, "run").save(step=1, parts={"model": b"x"}, about={})
    (tmp_path / "lake" / layout.checkpoint_pointer("run")).write_bytes(b"{")

    restored = Checkpoints(lake, "run").restore()

    assert restored is not None
    assert restored.step == 1
    assert [one.checkpoint for one in restored.skipped] == [layout.checkpoint_pointer("run")]


def test_a_shared_part_that_rotted_is_written_again_by_the_next_save(lake: LocalStore, tmp_path: Path) -> None:
    """All states share one copy of an unchanged part; saving reads it back."""
    checkpoints = Checkpoints(lake, "run")
    saved = checkpoints.save(step=1, parts={"frozen": b"f" * 100}, about={})
    flip(tmp_path / "lake" / layout.checkpoint_part("run", saved.parts[0].sha256))

    checkpoints.save(step=2, parts={"frozen": b"f" * 100}, about={})

    restored = checkpoints.restore()
    assert restored is not None
    assert (restored.step, restored.part("frozen"), restored.skipped) == (2, b"f" * 100, ())


def test_two_trainings_under_one_name_are_noticed(store: Store) -> None:
    """The one that was left behind is refused; the pointer stays with the other."""
    zombie, successor = Checkpoints(store, "run"), Checkpoints(store, "run")
    zombie.save(step=1, parts={"model": b"1"}, about={})
    successor.restore()
    successor.save(step=2, parts={"model": b"2"}, about={})

    with pytest.raises(CheckpointContended):
        zombie.save(step=99, parts={"model": b"99"}, about={})
    restored = Checkpoints(store, "run").restore()
    assert restored is not None
    assert restored.step == 2


def test_a_lost_answer_of_the_pointer_is_not_a_lost_save(tmp_path: Path) -> None:
    """The swap was done and refused when repeated: our own content means success."""

    class LosesAnswer(LocalStore):
        def swap(self, key: str, data: bytes, *, expected: str | None) -> str:
            super().swap(key, data, expected=expected)
            raise PointerMoved("p", found="412", expected="", remedy="")

    checkpoints = Checkpoints(LosesAnswer(tmp_path), "run")

    assert [checkpoints.save(step=step, parts={"model": b"x"}, about={}).number for step in (1, 2)] == [1, 2]


def test_ranks_store_their_parts_and_one_publishes(store: Store) -> None:
    """Half a state is never restorable; parts that are not there cannot be published."""
    ranks = [Checkpoints(store, "run").upload({f"rank-{rank}": bytes([rank])}) for rank in range(3)]
    assert Checkpoints(store, "run").restore() is None

    Checkpoints(store, "run").publish(step=3, parts=tuple(part for entries in ranks for part in entries), about={})

    restored = Checkpoints(store, "run").restore()
    assert restored is not None
    assert [restored.part(f"rank-{rank}") for rank in range(3)] == [b"\0", b"\1", b"\2"]
    store.delete(layout.checkpoint_part("run", ranks[0][0].sha256))
    with pytest.raises(StoredBytesDiffer, match="part rank-0"):
        Checkpoints(store, "run").publish(step=4, parts=ranks[0], about={})


@pytest.mark.parametrize("value", [object(), {1, 2}, float("nan"), np.array([object()]), lambda: 0])
def test_what_cannot_be_stored_is_refused_before_anything_is(lake: LocalStore, value: object) -> None:
    """No pickles: a checkpoint runs no code."""
    with pytest.raises(PartRefused, match="checkpoint part odd"):
        Checkpoints(lake, "run").save(step=1, parts={"odd": value, "fine": b""}, about={})
    assert list(lake.list("_checkpoints/")) == []


def test_a_name_that_is_no_key_is_refused(lake: LocalStore) -> None:
    """The run's name stands in keys."""
    with pytest.raises(DeclarationError):
        Checkpoints(lake, "../other")


def test_a_newer_format_is_skipped_by_name(lake: LocalStore, tmp_path: Path) -> None:
    """Not read as if it were ours."""
    Checkpoints(lake, "run").save(step=1, parts={}, about={})
    path = tmp_path / "lake" / layout.checkpoint("run", 1)
    path.write_bytes(path.read_bytes().replace(b'"format":1', b'"format":2'))

    with pytest.raises(CheckpointsDamaged, match="format 2"):
        Checkpoints(lake, "run").restore()


def test_random_generators_go_on_where_they_were() -> None:
    """Python's and NumPy's, through the plain form that is stored."""
    states = rng_states()
    expected = (random.random(), np.random.rand(3).tolist(), random.gauss(0, 1), np.random.standard_normal())
    set_rng_states(states)

    assert (random.random(), np.random.rand(3).tolist(), random.gauss(0, 1), np.random.standard_normal()) == expected


KILLED = """
import sys
from pathlib import Path
from headrace.checkpoint.checkpoints import Checkpoints
from headrace.lake.local import LocalStore
checkpoints = Checkpoints(LocalStore(Path(sys.argv[1])), "run", keep_last=2)
restored = checkpoints.restore()
step = 0 if restored is None else restored.step
print("ready", flush=True)
while True:
    step += 1
    checkpoints.save(step=step, parts={"a": step.to_bytes(4, "big") * 50_000, "b": {"step": step}}, about={})
    print(step, flush=True)
"""


def test_killed_at_any_moment_the_last_finished_save_or_a_later_one_is_restored(tmp_path: Path) -> None:
    """kill -9 in the middle of saving, fifteen times over the same run: never less than what was reported, never a mixture."""
    rng, reported = random.Random(4), 0
    for _ in range(15):
        with subprocess.Popen([sys.executable, "-c", KILLED, str(tmp_path)], stdout=subprocess.PIPE, text=True) as trainer:
            assert trainer.stdout is not None
            assert trainer.stdout.readline() == "ready\n"
            time.sleep(rng.uniform(0, 0.15))
            trainer.kill()
            lines = trainer.stdout.read().split()
        reported = int(lines[-1]) if lines else reported
        restored = Checkpoints(LocalStore(tmp_path), "run").restore()
        step = 0 if restored is None else restored.step
        assert reported <= step <= reported + 1
        if restored is not None:
            assert restored.skipped == ()
            assert restored.part("a") == step.to_bytes(4, "big") * 50_000
            assert restored.part("b") == {"step": step}
        reported = step
