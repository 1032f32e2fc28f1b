"""Every process of the house runs in one environment, and nobody's shell leaks into it."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import botocore.session
import pytest

from local.environment import Layout, house_environment, write_environment
from local.keys import Keys, house_keys
from local.places import REPOSITORY, Places
from local.ports import Ports

PORTS = Ports(ui=20_001, s3=20_002, filer=20_003, volume=20_004, master=20_005)
LAYOUT = Layout(code_version="c0ffee")


@pytest.fixture
def places(tmp_path: Path) -> Places:
    """The folders of a new house, with a space in their path."""
    made = Places(home=tmp_path / "a house")
    made.create()
    return made


def test_somebody_elses_aws_and_airflow_settings_are_dropped(places: Places) -> None:
    """A profile or an executor from a shell must not decide where we write or how we run."""
    inherited = {"AWS_PROFILE": "work", "AWS_ENDPOINT_URL": "https://x", "AIRFLOW__CORE__EXECUTOR": "Other", "LANG": "C.UTF-8"}

    environment = house_environment(inherited, places, PORTS, Keys(), LAYOUT, cores=2)

    assert {name for name in environment if name.startswith("AWS_")} == {"AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE"}
    assert (environment["AIRFLOW__CORE__EXECUTOR"], environment["LANG"]) == ("LocalExecutor", "C.UTF-8")


def test_declarations_and_library_can_be_imported_by_every_process(places: Places) -> None:
    """`include.datasets.flights` and `headrace` both resolve."""
    environment = house_environment({}, places, PORTS, Keys(), LAYOUT, cores=2)

    assert environment["PYTHONPATH"].split(os.pathsep) == [str(REPOSITORY), str(REPOSITORY / "include")]


def test_loopback_is_never_sent_through_a_proxy(places: Places) -> None:
    """Tasks talk to the api-server over HTTP; a proxy from the shell would swallow that."""
    environment = house_environment({"NO_PROXY": "example.org"}, places, PORTS, Keys(), LAYOUT, cores=2)

    assert environment["NO_PROXY"] == environment["no_proxy"] == "example.org,127.0.0.1,localhost"


def test_a_person_who_sources_the_file_has_the_same_environment(places: Places) -> None:
    """The shell file, read by a real shell with a contradicting variable set, gives our values and drops the other."""
    keys = Keys()
    environment = house_environment({"PATH": os.environ["PATH"]}, places, PORTS, keys, LAYOUT, cores=2)
    write_environment(places, PORTS, keys, environment)

    script = f'. "{places.environment}"; printf "%s|%s|%s" "$AIRFLOW__CORE__FERNET_KEY" "$HEADRACE_LAKE" "${{AWS_PROFILE-none}}"'
    told = subprocess.run(
        ["bash", "-c", script], env={**os.environ, "AWS_PROFILE": "work"}, capture_output=True, text=True, check=True
    )

    assert told.stdout == f"{keys.fernet_key}|s3://headrace/lake|none"


def test_the_standard_aws_chain_finds_the_house(places: Places, monkeypatch: pytest.MonkeyPatch) -> None:
    """Any AWS client reaches our server by the two files alone."""
    keys = Keys()
    write_environment(places, PORTS, keys, house_environment({}, places, PORTS, keys, LAYOUT, cores=2))
    monkeypatch.setenv("AWS_CONFIG_FILE", str(places.aws_config))
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(places.aws_credentials))

    client = botocore.session.Session().create_client("s3")

    assert client.meta.endpoint_url == "http://127.0.0.1:20002"
    assert client.meta.config.s3["addressing_style"] == "path"


def test_files_with_secrets_are_for_their_user_alone(places: Places) -> None:
    """Mode 0600, all of them."""
    keys = house_keys(places.keys)
    write_environment(places, PORTS, keys, house_environment({}, places, PORTS, keys, LAYOUT, cores=2))

    secret = [places.keys, places.environment, places.aws_credentials, places.passwords]
    assert {path.name: path.stat().st_mode & 0o777 for path in secret} == {path.name: 0o600 for path in secret}


def test_keys_are_made_once_and_never_shown(places: Places) -> None:
    """A second start has the same keys; printing them shows nothing."""
    keys = house_keys(places.keys)

    assert house_keys(places.keys) == keys
    assert repr(keys) == "Keys()"
