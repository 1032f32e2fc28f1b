"""Free loopback ports, chosen once and kept as long as they stay free.

Kept ports make addresses stable between starts; nothing stored depends on them, so a port somebody else took meanwhile is
simply replaced. SeaweedFS listens on each of its ports and on that port plus 10,000 (gRPC), so a candidate counts as free only
with its twin. Candidates lie below the range from which systems hand out outgoing ports (32768 on Linux, 49152 on macOS), twin
included. A check is no reservation: another program can still take a port between the check and the start.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import socket
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from local.errors import HouseError
from local.places import write_private

GRPC_OFFSET: Final = 10_000
_FIRST: Final = 20_000
_COUNT: Final = 2_768  # the last twin is 32767


@dataclass(frozen=True, kw_only=True)
class Ports:
    """The TCP ports of one house on 127.0.0.1."""

    ui: int
    s3: int
    filer: int
    volume: int
    master: int


def choose_ports(kept: Ports | None, asked_ui: int | None, start: int, is_free: Callable[[int], bool]) -> Ports:
    """The kept ports where they are still free, new ones elsewhere; `asked_ui` is taken as it is or refused.

    Args:
        kept: the ports of the last start.
        asked_ui: the port a person demanded for the UI.
        start: where to begin the search, any number; two houses with different starts rarely meet.
        is_free: whether a port and its gRPC twin can be bound now.

    Raises HouseError when `asked_ui` is taken, or nothing is free.
    """
    if asked_ui is not None and not is_free(asked_ui):
        raise HouseError(
            f"Port {asked_ui}",
            found="another program is using it",
            expected="a free port for the Airflow UI",
            remedy="Stop that program, choose another --port, or leave --port out.",
        )
    stays = {name: port for name, port in (vars(kept) if kept is not None else {}).items() if is_free(port)}
    if asked_ui is not None:
        stays["ui"] = asked_ui
    fresh = (port for port in _candidates(start) if port not in stays.values() and is_free(port))
    return Ports(**{field.name: stays[field.name] if field.name in stays else next(fresh) for field in dataclasses.fields(Ports)})


def house_ports(path: Path, asked_ui: int | None) -> Ports:
    """Read the kept ports at `path`, replace what is taken, keep the result there."""
    start = int.from_bytes(hashlib.sha256(str(path).encode()).digest()[:4], "big")
    ports = choose_ports(_kept(path), asked_ui, start, can_bind)
    write_private(path, json.dumps(dataclasses.asdict(ports), indent=2) + "\n")
    return ports


def can_bind(port: int) -> bool:
    """Whether nobody listens on 127.0.0.1 at `port` nor at its gRPC twin."""
    return all(_can_bind_one(number) for number in (port, port + GRPC_OFFSET) if number <= 65_535)


def _can_bind_one(port: int) -> bool:
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        # As the servers do it: a port whose last connections are still closing down is free. On macOS this flag also lets us
        # bind beside a listener on all addresses, which the connection below finds.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as caller:
        caller.settimeout(1.0)
        return caller.connect_ex(("127.0.0.1", port)) != 0


def _candidates(start: int) -> Iterator[int]:
    for step in range(_COUNT):
        yield _FIRST + (start + step) % _COUNT
    raise HouseError(
        f"Ports {_FIRST} to {_FIRST + _COUNT - 1} on 127.0.0.1",
        found="all in use",
        expected="a few free ones",
        remedy="Stop programs that listen there.",
    )


def _kept(path: Path) -> Ports | None:
    """The ports of the last start; None when there are none or the file is not ours (they can always be chosen anew)."""
    try:
        return Ports(**{name: int(port) for name, port in json.loads(path.read_text(encoding="utf-8")).items()})
    except (OSError, ValueError, TypeError, AttributeError):
        return None
