"""Real PyTorch: DataLoader workers, forked and spawned, several ranks, and faults inside workers."""

from __future__ import annotations

import json
import subprocess
import sys
import textwrap
from dataclasses import replace
from pathlib import Path

import pytest
from headrace.lake.local import LocalStore
from headrace.loader import LoaderOptions, Place, open_loader
from headrace.loader.errors import ShardUnreadable
from headrace.loader.release import pin

from tests.headrace.loader.releases import check_resume, global_order, loaders, numbers, release, run_steps

torch = pytest.importorskip("torch")

from headrace.loader.torch import TorchLoader, torch_place  # noqa: E402 - needs torch

# Three workers on a machine of two cores are what the matrix asks for.
pytestmark = pytest.mark.filterwarnings("ignore:This DataLoader will create")
SIZES = [13, 1, 7, 0, 22, 5, 17]


@pytest.fixture
def options(tmp_path: Path) -> LoaderOptions:
    return LoaderOptions(seed=5, batch_size=4, window_bytes=9_000, cache_folder=tmp_path / "cache", prefetch_bytes=50_000)


class Ranks:
    """Torch loaders that look like loaders to the checker."""

    def __init__(self, torch_loader: TorchLoader) -> None:
        self.torch_loader = torch_loader
        self.state_dict = torch_loader.state_dict
        self.load_state_dict = torch_loader.load_state_dict

    def __iter__(self):
        return (batch.batch for batch in self.torch_loader)


@pytest.mark.parametrize("workers", [0, 1, 3])
@pytest.mark.parametrize("world", [1, 2, 3])
def test_the_order_is_the_same_for_every_worker_count(lake: LocalStore, options: LoaderOptions, workers: int, world: int) -> None:
    """C.1 5, 10: real worker processes; every sample once over ranks and workers, in the order one plain loader gives."""
    release(lake, SIZES)
    order = numbers(loaders(lake, 1, options)[0])

    ranks = [Ranks(TorchLoader(loader, workers=workers)) for loader in loaders(lake, world, options)]

    assert global_order([list(rank) for rank in ranks]) == order
    assert {rank.state_dict()["epoch"] for rank in ranks} == {1}


@pytest.mark.parametrize(
    ("before", "after", "steps"), [((1, 3), (2, 1), 5), ((2, 1), (3, 0), 4), ((3, 0), (1, 3), 2), ((2, 3), (1, 1), 1)]
)
def test_stopped_and_resumed_with_other_ranks_and_workers(
    lake: LocalStore, options: LoaderOptions, before: tuple[int, int], after: tuple[int, int], steps: int
) -> None:
    """C.1 1, 6: what workers had read ahead when it stopped is neither lost nor repeated."""
    release(lake, SIZES)
    order = numbers(loaders(lake, 1, options)[0])
    workers = {before[0]: before[1], after[0]: after[1]}

    def open_ranks(world: int):
        return [Ranks(TorchLoader(loader, workers=workers[world])) for loader in loaders(lake, world, options)]

    check_resume(open_ranks, order, before=before[0], after=after[0], steps=steps)


def test_persistent_workers_follow_the_cursor_through_epochs_and_jumps(lake: LocalStore, options: LoaderOptions) -> None:
    """The processes live on; where they read comes from here each time."""
    release(lake, SIZES)
    [plain] = loaders(lake, 1, options)
    epochs = [numbers(plain) for _ in range(2)]
    made = TorchLoader(open_loader(lake.uri, "numbers", options=options), workers=2)

    [first] = run_steps([Ranks(made)], 3)
    rest = [batch.batch for batch in made]
    second = [batch.batch for batch in made]
    made.load_state_dict(plain.state_dict() | {"epoch": 0, "position": 0})
    again = [batch.batch for batch in made]

    assert numbers([*first, *rest]) == epochs[0]
    assert numbers(second) == epochs[1]
    assert numbers(again) == epochs[0]


@pytest.mark.parametrize("start_method", ["fork", "spawn"])
def test_workers_may_be_forked_or_spawned_while_the_parent_reads(
    lake: LocalStore, options: LoaderOptions, start_method: str
) -> None:
    """C.3 44: the parent has threads and an open reader at that moment."""
    release(lake, SIZES)
    parent = iter(open_loader(lake.uri, "numbers", options=replace(options, columns=("n",))))
    next(parent)

    made = TorchLoader(open_loader(lake.uri, "numbers", options=options), workers=2, start_method=start_method)

    assert sorted(numbers(batch.batch for batch in made)) == list(range(65))
    assert len(list(parent)) == 16


def test_tensors_texts_and_nulls(lake: LocalStore, options: LoaderOptions) -> None:
    """Numbers are tensors that may be written to, texts are lists, null numbers NaN; the same with and without workers."""
    release(lake, [4], columns={"x": lambda n: None if n == 2 else n / 2, "yes": lambda n: n == 1})
    chosen = replace(options, shuffle=False)

    for workers in (0, 1):
        [batch] = TorchLoader(open_loader(lake.uri, "numbers", options=chosen), workers=workers)
        assert batch["n"].tolist() == [0, 1, 2, 3]
        assert batch["n"].dtype == torch.int64
        batch["n"].add_(1)
        assert [str(value) for value in batch["x"].tolist()] == ["0.0", "0.5", "nan", "1.5"]
        assert batch["yes"].tolist() == [False, True, False, False]
        assert batch["text"] == ["text 0", "text 1", "text 2", "text 3"]
        assert batch.mask.tolist() == [True] * 4
        assert len(batch.batch.sample_ids) == len(batch) == 4


def test_a_broken_shard_in_a_worker_is_raised_as_itself(lake: LocalStore, options: LoaderOptions, tmp_path: Path) -> None:
    """C.1 11: named in the training process, after the batches before it; the epoch does not end."""
    release(lake, SIZES)
    shard = pin(lake, "numbers", "LATEST", tmp_path / "pinned").shards[4]
    path = tmp_path / "lake" / shard.key
    path.write_bytes(path.read_bytes()[:-1] + b"?")
    made = TorchLoader(open_loader(lake.uri, "numbers", options=options), workers=2)
    seen: list[int] = []

    def consume() -> None:
        for batch in made:
            seen.extend(batch["n"].tolist())

    with pytest.raises(ShardUnreadable) as caught:
        consume()

    assert shard.sha256 in caught.value.subject
    assert len(seen) == made.state_dict()["position"] < 65


KILLED = textwrap.dedent("""
    import json, os, signal, sys
    from pathlib import Path
    from headrace.loader import LoaderOptions, open_loader
    from headrace.loader.errors import WorkerLost
    from headrace.loader.torch import TorchLoader

    options = LoaderOptions(batch_size=8, window_bytes=9_000, cache_folder=Path(sys.argv[2]))
    batches, seen = TorchLoader(open_loader(sys.argv[1], "numbers", options=options), workers=2), []
    try:
        for batch in batches:
            seen += batch["n"].tolist()
            if len(seen) == 80:
                os.kill(batches._workers._iterator._workers[0].pid, signal.SIGKILL)
    except (RuntimeError, WorkerLost) as error:
        print(json.dumps([seen, batches.state_dict(), str(error)]))
""")


def test_a_killed_worker_is_an_error_and_the_next_start_works(lake: LocalStore, options: LoaderOptions) -> None:
    """C.1 12: kill -9 of a reading process is never the end of an epoch; the cursor goes on in fresh workers."""
    release(lake, [200] * 20)
    done = subprocess.run(
        [sys.executable, "-c", KILLED, lake.uri, str(options.cache_folder)],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    seen, state, error = json.loads(done.stdout.splitlines()[0])

    fresh = TorchLoader(open_loader(lake.uri, "numbers", options=replace(options, batch_size=8)), workers=1)
    fresh.load_state_dict(state)
    seen.extend(n for batch in fresh for n in batch["n"].tolist())
    assert "worker" in error
    assert sorted(seen) == list(range(4000))


RANK = textwrap.dedent("""
    import json, sys
    from pathlib import Path
    import torch
    from headrace.loader import LoaderOptions, open_loader
    from headrace.loader.torch import TorchLoader, torch_place

    torch.distributed.init_process_group("gloo", init_method=f"file://{sys.argv[4]}", rank=int(sys.argv[2]), world_size=int(sys.argv[3]))
    options = LoaderOptions(seed=5, batch_size=4, window_bytes=9_000, cache_folder=Path(sys.argv[5]), end="pad")
    batches = TorchLoader(open_loader(sys.argv[1], "numbers", options=options, place=torch_place()), workers=1)
    seen = []
    for batch in batches:
        total = batch["n"][batch.mask].sum()
        torch.distributed.all_reduce(total)
        seen.append([batch["n"][batch.mask].tolist(), total.item()])
    torch.distributed.destroy_process_group()
    print(json.dumps(seen))
""")


def test_ranks_are_discovered_from_torch_distributed(lake: LocalStore, options: LoaderOptions, tmp_path: Path) -> None:
    """Three processes of a real process group, each with a worker process, all-reducing every step: no rank runs out early."""
    release(lake, SIZES)
    command = [sys.executable, "-W", "ignore", "-c", RANK, lake.uri]
    processes = [
        subprocess.Popen(
            [*command, str(rank), "3", str(tmp_path / "meet"), str(tmp_path / "cache")], stdout=subprocess.PIPE, text=True
        )
        for rank in range(3)
    ]
    outcomes = [json.loads(process.communicate(timeout=120)[0]) for process in processes]

    assert sorted(n for steps in outcomes for seen, _ in steps for n in seen) == list(range(65))
    assert {len(steps) for steps in outcomes} == {6}
    assert [[total for _, total in steps] for steps in outcomes] == [[total for _, total in outcomes[0]]] * 3


def test_without_a_launcher_there_is_one_rank(monkeypatch: pytest.MonkeyPatch) -> None:
    """And with one, its rank counts."""
    assert torch_place() == Place()
    monkeypatch.setenv("RANK", "2")
    monkeypatch.setenv("WORLD_SIZE", "4")
    assert torch_place() == Place(rank=2, world_size=4)
