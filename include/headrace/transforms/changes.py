"""What changed since a transform ran: its code, the packages of its fingerprint, and what else was recorded."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from headrace.lake import layout
from headrace.lake.errors import ObjectMissing
from headrace.lake.store import Store
from headrace.manifests.document import from_bytes
from headrace.manifests.manifest import Manifest
from headrace.spec.canonical import digest_of
from headrace.spec.transform import Step
from headrace.transforms.code_store import environment, kept_code
from headrace.transforms.fingerprint import Fingerprint


def changed_code(recorded: dict[str, Any], today: Fingerprint, lake: Store, transform: str) -> tuple[str, ...]:
    """What is different in the code of a transform, step by step, in words; empty when nothing is.

    Args:
        recorded: the facts of its manifest. Functions are named where the code they were made with is still kept.
    """
    if today.code == recorded["code"]:
        return ()
    entries = _kept_entries(lake, transform, recorded["fingerprint"])
    lines = [*changed_steps(recorded["steps"], [one.step for one in today.steps])]
    for one in today.steps:
        if one.step.name in entries:
            lines += [f"step {one.step.name} {line}" for line in _changed_functions(entries[one.step.name], one.code.entries)]
    return tuple(lines) or ("its code changed",)


def changed_steps(recorded: Sequence[Mapping[str, Any]], steps: Sequence[Step]) -> tuple[str, ...]:
    """Steps that are gone, new, or declared otherwise, in words. `recorded`: as a manifest holds the steps."""
    old = {str(one["name"]): one for one in recorded}
    new = {step.name: step for step in steps}
    lines = [f"step {step} is gone" for step in old.keys() - new]
    lines += [f"step {step} is new" for step in new.keys() - old]
    lines += [f"step {name} {line}" for name in sorted(old.keys() & new) for line in _changed_step(old[name], new[name])]
    return tuple(lines)


def _changed_step(was: Mapping[str, Any], now: Step) -> list[str]:
    lines = [
        f"{field} {was[field]} -> {found}"
        for field, found in (("version", now.version), ("function", now.function))
        if was[field] != found
    ]
    before, after = dict(map(tuple, was["parameters"])), {key: _lists(value) for key, value in now.parameters}
    differing = sorted(key for key in before.keys() | after if before.get(key) != after.get(key))
    return lines + [f"parameter {key} {before.get(key)} -> {after.get(key)}" for key in differing]


def _changed_functions(old: dict[str, Any], new: dict[str, Any]) -> list[str]:
    """Functions and classes by name, without the number that tells closures apart."""
    differing = {key for key in old.keys() & new if digest_of(old[key]) != digest_of(new[key])}
    changes = [("gone", old.keys() - new), ("new", new.keys() - old), ("changed", differing)]
    return [f"{name} {what}" for what, keys in changes for name in sorted({key.rpartition("#")[0] for key in keys})]


def _kept_entries(lake: Store, transform: str, fingerprint: str) -> dict[str, dict[str, Any]]:
    """What each step reached then, by its name; nothing where it is not kept any more."""
    try:
        kept = kept_code(lake, transform, fingerprint).content
    except ObjectMissing:
        return {}
    return {one["declaration"]["name"]: one["entries"] for one in kept["steps"]}


def changed_versions(old: Mapping[str, str | None], new: Mapping[str, str | None]) -> tuple[str, ...]:
    """Packages of another version, as `name old -> new`."""
    return tuple(
        f"{name} {old.get(name)} -> {new.get(name)}" for name in sorted(old.keys() | new) if old.get(name) != new.get(name)
    )


def recorded_environment(lake: Store, manifest: Manifest) -> dict[str, Any]:
    """What the run that made a manifest recorded of itself (`code_store.environment`); empty where it recorded nothing."""
    key = layout.manifest(manifest.dataset, manifest.partition, manifest.digest)
    found: dict[str, Any] = from_bytes(f"{lake.uri}/{key}", lake.get(key).data).run.get("environment", {})
    return found


def changed_surroundings(manifest: Manifest, named: dict[str, str], today: Fingerprint | None, lake: Store) -> tuple[str, ...]:
    """What the manifest's run recorded besides the fingerprint, compared with now."""
    then = recorded_environment(lake, manifest)
    if today is None or not then:
        return ()
    now = environment(today)
    others = {name: version for name, version in now["packages"].items() if name not in named}
    known = {name: version for name, version in then["packages"].items() if name in others}
    lines = changed_versions(known, {name: others[name] for name in known})
    return lines + tuple(f"{name} {then[name]} -> {now[name]}" for name in ("python", "machine") if then[name] != now[name])


def _lists(value: Any) -> Any:
    return [_lists(item) for item in value] if isinstance(value, tuple) else value
