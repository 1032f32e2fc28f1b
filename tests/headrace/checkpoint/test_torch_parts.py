"""PyTorch's state in a checkpoint."""

from __future__ import annotations

import pytest
from headrace.checkpoint.checkpoints import Checkpoints
from headrace.checkpoint.parts import TorchState, encoded
from headrace.checkpoint.rng import rng_states, set_rng_states
from headrace.lake.local import LocalStore

torch = pytest.importorskip("torch")


def test_model_optimizer_schedule_and_generators_go_on(lake: LocalStore) -> None:
    """Ten steps in one go are the same, bit for bit, as five, a restart from the checkpoint, and five."""

    def fresh():
        torch.manual_seed(0)
        model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Dropout(0.5), torch.nn.Linear(8, 1))
        optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
        return model, optimizer, torch.optim.lr_scheduler.StepLR(optimizer, 3)

    def train(model, optimizer, schedule, steps: int) -> None:
        for _ in range(steps):
            loss = model(torch.randn(16, 4)).square().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()

    whole = fresh()
    train(*whole, 10)
    half = fresh()
    train(*half, 5)
    names = ("model", "optimizer", "schedule")
    states = {name: TorchState(value=part.state_dict()) for name, part in zip(names, half, strict=True)}
    Checkpoints(lake, "run").save(step=5, parts={**states, "rng": rng_states()}, about={})

    again = fresh()
    restored = Checkpoints(lake, "run").restore()
    assert restored is not None
    for name, part in zip(names, again, strict=True):
        part.load_state_dict(restored.part(name))
    set_rng_states(restored.part("rng"))
    train(*again, 5)

    assert all(torch.equal(a, b) for a, b in zip(whole[0].parameters(), again[0].parameters(), strict=True))


def test_equal_state_gives_equal_bytes() -> None:
    """So a frozen part is recognised and not stored again."""
    value = {"weight": torch.arange(1000.0), "step": 3}

    assert encoded("a", TorchState(value=value)) == encoded("a", TorchState(value={**value, "weight": torch.arange(1000.0)}))
