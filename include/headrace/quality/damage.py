"""Damage in the lake as incidents: one a partition, open from the night it is found to the night every byte is right again.

Bytes are right or wrong, so one clean look closes an incident, where a day's statistics need two. A partition that is never looked at
closes nothing: whoever verifies looks at the damaged ones every time.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Final

from headrace.quality.incidents import Incident, Incidents

CHECK: Final = "damaged"


def damaged_partitions(state: Incidents) -> list[str]:
    """The partitions with an open incident, in order."""
    return sorted(item.feature for item in state.open if item.check == CHECK)


def looked(state: Incidents, *, broken: Mapping[str, str], right: Collection[str], at: str) -> Incidents:
    """The state after verifying.

    Args:
        broken: by partition what is wrong with it, in a sentence.
        right: the partitions of which every byte is right, or that no release holds any more.
        at: when, as an instant's text.
    """
    known = {item.feature for item in state.open if item.check == CHECK}
    after = tuple(_after(item, broken, right, at) if item.is_open and item.check == CHECK else item for item in state.incidents)
    fresh = [partition for partition in sorted(broken) if partition not in known]
    opened = tuple(_opened(state.next_number + n, partition, broken[partition], at) for n, partition in enumerate(fresh))
    return replace(state, next_number=state.next_number + len(fresh), incidents=(*after, *opened))


def _after(item: Incident, broken: Mapping[str, str], right: Collection[str], at: str) -> Incident:
    if item.feature in broken:
        return replace(item, count=item.count + 1, reason=broken[item.feature])
    return replace(item, closed_at=at) if item.feature in right else item


def _opened(number: int, partition: str, reason: str, at: str) -> Incident:
    return Incident(
        number=number,
        check=CHECK,
        feature=partition,
        level="critical",
        reason=reason,
        first=partition,
        last=partition,
        opened_at=at,
    )
