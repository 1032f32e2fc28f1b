"""How what is declared and installed differs from what was recorded, in words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from headrace.spec.transform import Step


def step_differences(recorded: Sequence[Mapping[str, Any]], steps: Sequence[Step]) -> tuple[str, ...]:
    """Steps that are gone or new, and other versions and parameters. `recorded`: as a manifest holds the steps."""
    old = {str(one["name"]): one for one in recorded}
    new = {step.name: step for step in steps}
    lines = [f"step {step} is gone" for step in old.keys() - new]
    lines += [f"step {step} is new" for step in new.keys() - old]
    for step in sorted(old.keys() & new):
        was, now = old[step], new[step]
        if was["version"] != now.version:
            lines.append(f"step {step} version {was['version']} -> {now.version}")
        before, after = dict(map(tuple, was["parameters"])), {key: _lists(value) for key, value in now.parameters}
        differing = sorted(key for key in before.keys() | after if before.get(key) != after.get(key))
        lines += [f"step {step} parameter {key} {before.get(key)} -> {after.get(key)}" for key in differing]
    return tuple(lines)


def version_differences(old: Mapping[str, str | None], new: Mapping[str, str | None]) -> tuple[str, ...]:
    """`name old -> new` for each that is another, in order of names."""
    return tuple(
        f"{name} {old.get(name)} -> {new.get(name)}" for name in sorted(old.keys() | new) if old.get(name) != new.get(name)
    )


def _lists(value: Any) -> Any:
    return [_lists(item) for item in value] if isinstance(value, tuple) else value
