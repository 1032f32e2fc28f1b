"""The random generators a training depends on, as a plain part of its state.

Python's `random`, NumPy's legacy global generator, and PyTorch's (CPU and each CUDA device) when torch is loaded. Generators of one's
own go into parts of their own: NumPy's `bit_generator.state` is plain already.
"""

from __future__ import annotations

import base64
import random
import sys
from typing import Any

import numpy as np


def rng_states() -> dict[str, Any]:
    """The states now, as JSON values."""
    version, numbers, gauss = random.getstate()
    name, keys, position, has_gauss, cached = np.random.get_state(legacy=True)
    states: dict[str, Any] = {
        "python": [version, list(numbers), gauss],
        "numpy": [str(name), np.asarray(keys).tolist(), int(position), int(has_gauss), float(cached)],
    }
    torch = sys.modules.get("torch")
    if torch is not None:
        cuda = torch.cuda.get_rng_state_all() if torch.cuda.is_available() else []
        states["torch"] = [_text(state) for state in (torch.get_rng_state(), *cuda)]
    return states


def set_rng_states(states: dict[str, Any]) -> None:
    """Put the states back. PyTorch's are put back when they were saved, which loads torch."""
    version, numbers, gauss = states["python"]
    random.setstate((version, tuple(numbers), gauss))
    name, keys, position, has_gauss, cached = states["numpy"]
    np.random.set_state((name, np.array(keys, dtype=np.uint32), position, has_gauss, cached))
    if "torch" in states:
        import torch

        cpu, *cuda = [torch.frombuffer(bytearray(base64.b64decode(text)), dtype=torch.uint8) for text in states["torch"]]
        torch.set_rng_state(cpu)
        if cuda and torch.cuda.is_available():
            torch.cuda.set_rng_state_all(cuda)


def _text(state: Any) -> str:
    return base64.b64encode(state.numpy().tobytes()).decode()
