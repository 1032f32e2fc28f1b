"""What changed since a transform ran: its code, the packages of its fingerprint, and what else was recorded."""

from __future__ import annotations

from typing import Any

from headrace.lake import layout
from headrace.lake.store import Store
from headrace.manifests.document import from_bytes
from headrace.manifests.manifest import Manifest
from headrace.transforms.code_store import environment
from headrace.transforms.fingerprint import Fingerprint


def changed_code(name: str, recorded: dict[str, Any], today: Fingerprint | None) -> tuple[str, ...]:
    """What is different in the code of transform `name`, in words.

    Args:
        recorded: the manifest's facts of it.
        today: None where it is not declared any more, or is refused.
    """
    if today is None:
        return (f"{name}: its code cannot be compared",)
    if today.code == recorded["code"]:
        return ()
    old = {one["name"]: one for one in recorded["steps"]}
    new = {one.step.name: one.step for one in today.steps}
    lines = [f"{name}: step {step} is gone" for step in old.keys() - new]
    lines += [f"{name}: step {step} is new" for step in new.keys() - old]
    for step in sorted(old.keys() & new):
        was, now = old[step], new[step]
        if was["version"] != now.version:
            lines.append(f"{name}: step {step} version {was['version']} -> {now.version}")
        before, after = dict(map(tuple, was["parameters"])), {key: _lists(value) for key, value in now.parameters}
        differing = sorted(key for key in before.keys() | after if before.get(key) != after.get(key))
        lines += [f"{name}: step {step} parameter {key} {before.get(key)} -> {after.get(key)}" for key in differing]
    return tuple(lines) or (f"{name}: its code changed",)


def changed_versions(old: dict[str, str], new: dict[str, str]) -> tuple[str, ...]:
    """Packages of another version, as `name old -> new`."""
    return tuple(
        f"{name} {old.get(name)} -> {new.get(name)}" for name in sorted(old.keys() | new) if old.get(name) != new.get(name)
    )


def changed_surroundings(manifest: Manifest, named: dict[str, str], today: Fingerprint | None, lake: Store) -> tuple[str, ...]:
    """What the manifest's run recorded besides the fingerprint, compared with now."""
    key = layout.manifest(manifest.dataset, manifest.partition, manifest.digest)
    run = from_bytes(f"{lake.uri}/{key}", lake.get(key).data).run
    then: dict[str, Any] = run.get("environment", {})
    if today is None or not then:
        return ()
    now = environment(today)
    others = {name: version for name, version in now["packages"].items() if name not in named}
    known = {name: version for name, version in then["packages"].items() if name in others}
    lines = changed_versions(known, {name: others[name] for name in known})
    return lines + tuple(f"{name} {then[name]} -> {now[name]}" for name in ("python", "machine") if then[name] != now[name])


def _lists(value: Any) -> Any:
    return [_lists(item) for item in value] if isinstance(value, tuple) else value
