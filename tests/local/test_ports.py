"""Ports are kept while they are free, replaced when they are not, and never forced on anybody."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from local.errors import HouseError
from local.ports import GRPC_OFFSET, Ports, can_bind, choose_ports, house_ports

KEPT = Ports(ui=20_001, s3=20_002, filer=20_003, volume=20_004, master=20_005)


@pytest.fixture
def listener() -> Iterator[socket.socket]:
    """Somebody else's server, on a port that the system chose: far enough from both ends to have twins below and above."""
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen()
        yield server


def test_kept_ports_are_used_again() -> None:
    """A second start has the addresses of the first."""
    assert choose_ports(KEPT, None, 0, lambda _: True) == KEPT


def test_a_taken_port_is_replaced_and_the_others_stay() -> None:
    """Nothing depends on a port, so only the taken one changes."""
    chosen = choose_ports(KEPT, None, 0, lambda port: port not in {20_000, 20_002})

    assert chosen == Ports(ui=20_001, s3=20_006, filer=20_003, volume=20_004, master=20_005)


def test_a_demanded_port_that_is_taken_is_refused_by_name() -> None:
    """`--port` is a demand: another port would be a surprise."""
    with pytest.raises(HouseError, match="Port 8080: found another program is using it"):
        choose_ports(KEPT, 8080, 0, lambda port: port != 8080)


def test_a_demanded_port_wins_over_the_kept_one() -> None:
    """The UI moves where it is asked to."""
    assert choose_ports(KEPT, 8080, 0, lambda _: True).ui == 8080


def test_no_free_port_is_said() -> None:
    """A full machine is an error with a remedy, not an endless search."""
    with pytest.raises(HouseError, match="all in use"):
        choose_ports(None, None, 0, lambda _: False)


@given(start=st.integers(0, 2**32), taken=st.sets(st.integers(20_000, 22_767), max_size=200))
def test_chosen_ports_are_free_distinct_and_below_the_outgoing_range(start: int, taken: set[int]) -> None:
    """Whatever is taken, the five ports differ, are free, and their twins stay below 32768."""
    chosen = list(vars(choose_ports(None, None, start, lambda port: port not in taken)).values())

    assert len(set(chosen)) == 5
    assert not taken & set(chosen)
    assert all(port >= 20_000 and port + GRPC_OFFSET < 32_768 for port in chosen)


def test_a_listening_port_cannot_be_bound(listener: socket.socket) -> None:
    """The check sees a real server."""
    assert not can_bind(listener.getsockname()[1])


def test_a_port_whose_grpc_twin_is_taken_counts_as_taken(listener: socket.socket) -> None:
    """SeaweedFS would die of it after seconds."""
    assert not can_bind(listener.getsockname()[1] - GRPC_OFFSET)


def test_a_damaged_port_file_is_replaced(tmp_path: Path) -> None:
    """The file holds nothing that could not be chosen anew."""
    path = tmp_path / "ports.json"
    path.write_text("{half", encoding="utf-8")

    ports = house_ports(path, None)

    assert json.loads(path.read_text(encoding="utf-8")) == vars(ports)
