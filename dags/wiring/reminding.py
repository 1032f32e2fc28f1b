"""The nightly digest over every route: what has been open for more than a day and is with nobody."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from headrace.settings import runbooks
from headrace.spec.alerts import AlertRoute

if TYPE_CHECKING:
    from headrace.lake.store import Store
    from headrace.quality.reminder import Lying

log = logging.getLogger("headrace")


def send_reminders(owners: Mapping[str, str], routes: Sequence[AlertRoute], now: datetime, *, lake: Store) -> dict[str, int]:
    """Send each connected route its digest. `owners`: by dataset. Returns how many incidents lie there and how many messages went."""
    from headrace.quality.reminder import lying

    found = lying(_open_ones(owners, lake), now)
    sent = sum(_sent(route, found) for route in routes)
    log.info("%d incidents are open for more than a day and with nobody; %d messages sent.", len(found), sent)
    return {"lying": len(found), "sent": sent}


def _open_ones(owners: Mapping[str, str], lake: Store) -> list[Lying]:
    from headrace.quality.incident_store import STREAMS, read_incidents
    from headrace.quality.reminder import Lying

    return [
        Lying(dataset=name, owner=owner, incident=item)
        for name, owner in owners.items()
        for stream in STREAMS
        for item in read_incidents(lake, name, stream).open
    ]


def _sent(route: AlertRoute, found: Sequence[Lying]) -> bool:
    """Whether a message went. A route that fails is logged: its own incident comes from the alert it fails to carry."""
    from headrace.quality.reminder import reminder
    from headrace.quality.routing import worth_telling
    from headrace_alerts import ChannelDead, is_connected, send

    mine = [one for one in found if route.takes(one.owner) and worth_telling(route, one.incident.level)]
    message = reminder(mine, runbooks())
    if message is None or not is_connected(route):
        return False
    try:
        send(route, message)
    except ChannelDead:
        log.exception("The digest did not get through over %s.", route.name)
        return False
    log.info("Told over %s: %s", route.name, message.subject)
    return True
