"""Where alerts go: which channel is told of whose failures, from which severity on.

A route names an Airflow connection and holds no secret. Severity means *at least*: a route for warnings is told of critical failures
too. A connection that does not exist switches its route off. Standard library only.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal, get_args

from headrace.spec.checks import SEVERITIES, Severity
from headrace.spec.errors import check
from headrace.spec.names import check_name

Channel = Literal["slack", "smtp", "apprise"]
CHANNELS: Final[tuple[Channel, ...]] = get_args(Channel)


@dataclass(frozen=True, kw_only=True)
class AlertRoute:
    """One way to people.

    Attributes:
        name: the route's name; what was told over it is remembered by it.
        channel: a Slack incoming webhook, mail, or Apprise for everything else.
        connection: the Airflow connection with address and secret; the route is off while there is none.
        at_least: the least severity worth a message.
        owners: whose training sets; empty: everybody's.
        to: recipients, for mail only.
    """

    name: str
    channel: Channel
    connection: str
    at_least: Severity = "warning"
    owners: tuple[str, ...] = ()
    to: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        check_name("AlertRoute", "name", self.name)
        who = f"AlertRoute {self.name}"
        check(self.channel in CHANNELS, who, "channel", self.channel, f"one of {', '.join(CHANNELS)}")
        check(isinstance(self.connection, str) and self.connection != "", who, "connection", self.connection, "a connection's ID")
        check(self.at_least in SEVERITIES, who, "at_least", self.at_least, f"one of {', '.join(SEVERITIES)}")
        check(_are_texts(self.owners), who, "owners", self.owners, "owners' names, as a tuple")
        right = _are_texts(self.to) and (len(self.to) > 0) == (self.channel == "smtp")
        check(right, who, "to", self.to, "addresses for smtp, none for other channels")

    def takes(self, owner: str) -> bool:
        """Whether this owner's alerts go this way."""
        return len(self.owners) == 0 or owner in self.owners


def _are_texts(values: object) -> bool:
    return isinstance(values, tuple) and all(isinstance(value, str) and value != "" for value in values)
