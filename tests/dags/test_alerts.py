"""Messages over the providers' real notifiers to real receivers on this machine: an HTTP server, an SMTP server."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.receivers import Inbox, http_receiver, mail_receiver

pytestmark = [
    pytest.mark.servers,
    # Importing Airflow and its providers warns of their own dependencies.
    pytest.mark.filterwarnings("default"),
]


MAIL = {"from_email": "headrace@example.com", "disable_ssl": True, "disable_tls": True}


@pytest.fixture
def webhook() -> Iterator[tuple[str, Inbox]]:
    """The address of an HTTP receiver and its inbox."""
    with http_receiver() as receiver:
        yield receiver


@pytest.fixture
def mailbox() -> Iterator[tuple[int, list[Any]]]:
    """The port of an SMTP receiver and its envelopes."""
    with mail_receiver() as receiver:
        yield receiver


@pytest.fixture
def connect(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Set an Airflow connection, as JSON in the environment."""

    def set_connection(name: str, **fields: object) -> None:
        monkeypatch.setenv(f"AIRFLOW_CONN_{name.upper()}", json.dumps(fields))

    return set_connection


def message(level: str = "critical") -> Any:
    from headrace.quality.message import Message

    lines = ("Opened #1 {{ 7 * 7 }}", "Run: http://ui/run")
    return Message(subject="[critical] set 2013-01-01: Blocked & <held>", lines=lines, level=level)


def route(channel: str) -> Any:
    from headrace.spec.alerts import AlertRoute

    return AlertRoute(
        name=channel, channel=channel, connection=f"my_{channel}", to=("ops@example.com",) if channel == "smtp" else ()
    )


def plugin() -> Any:
    import sys

    from tests.dags.conftest import REPOSITORY

    sys.path.insert(0, str(REPOSITORY / "plugins"))
    import headrace_alerts

    return headrace_alerts


def test_slack_gets_one_post_with_escaped_markup_and_no_template_run(webhook: tuple[str, Inbox], connect: Any) -> None:
    """The text arrives whole; braces stay braces."""
    url, inbox = webhook
    connect("my_slack", conn_type="slackwebhook", password=f"{url}/services/T/B/secret")

    plugin().send(route("slack"), message())

    assert [json.loads(body)["text"] for body in inbox.bodies] == [
        "[critical] set 2013-01-01: Blocked &amp; &lt;held&gt;\nOpened #1 {{ 7 * 7 }}\nRun: http://ui/run"
    ]


def test_mail_arrives_with_subject_and_links(mailbox: tuple[int, list[Any]], connect: Any) -> None:
    """From the connection's sender to the route's recipients, as HTML."""
    from email import message_from_bytes
    from email.header import decode_header, make_header

    port, envelopes = mailbox
    connect("my_smtp", conn_type="smtp", host="127.0.0.1", port=port, extra=MAIL)

    plugin().send(route("smtp"), message())

    assert [(envelope.mail_from, envelope.rcpt_tos) for envelope in envelopes] == [("headrace@example.com", ["ops@example.com"])]
    mail = message_from_bytes(envelopes[0].content)
    html = next(part.get_payload(decode=True) for part in mail.walk() if part.get_content_type() == "text/html").decode()
    assert str(make_header(decode_header(mail["Subject"]))) == "[critical] set 2013-01-01: Blocked & <held>"
    assert "Blocked &amp; &lt;held&gt;<br>" in html
    assert "{{ 7 * 7 }}" in html
    assert '<a href="http://ui/run">http://ui/run</a>' in html


def test_apprise_reaches_its_service(webhook: tuple[str, Inbox], connect: Any) -> None:
    """Title and body as JSON over Apprise's own HTTP service."""
    url, inbox = webhook
    connect("my_apprise", conn_type="apprise", extra={"config": {"path": url.replace("http://", "json://")}})

    plugin().send(route("apprise"), message())

    assert [(json.loads(body)["title"], json.loads(body)["message"]) for body in inbox.bodies] == [
        ("[critical] set 2013-01-01: Blocked & <held>", "Opened #1 {{ 7 * 7 }}\nRun: http://ui/run")
    ]


@pytest.mark.parametrize("channel", ["slack", "apprise"])
def test_a_service_that_refuses_is_dead_and_its_token_is_not_told(webhook: tuple[str, Inbox], connect: Any, channel: str) -> None:
    """An error answer is a failure of the channel, which Apprise's own notifier would have swallowed."""
    url, inbox = webhook
    inbox.status = 500
    connect("my_slack", conn_type="slackwebhook", password=f"{url}/services/T/B/secret")
    connect("my_apprise", conn_type="apprise", extra={"config": {"path": url.replace("http://", "json://user:secret@")}})

    with pytest.raises(plugin().ChannelDead) as dead:
        plugin().send(route(channel), message())
    assert f"alert route {channel}" in str(dead.value)
    assert "secret" not in str(dead.value)


@pytest.mark.parametrize(
    ("channel", "fields"),
    [
        ("slack", {"conn_type": "slackwebhook", "password": "http://127.0.0.1:9/x"}),
        (
            "smtp",
            {
                "conn_type": "smtp",
                "host": "127.0.0.1",
                "port": 9,
                "extra": {"from_email": "a@b", "disable_ssl": True, "disable_tls": True},
            },
        ),
        ("apprise", {"conn_type": "apprise", "extra": {"config": {"path": "json://127.0.0.1:9"}}}),
        ("apprise", {"conn_type": "apprise", "extra": {"config": []}}),
        ("slack", {"conn_type": "slackwebhook"}),
    ],
)
def test_a_channel_nobody_answers_is_dead(connect: Any, channel: str, fields: dict[str, Any]) -> None:
    """Nobody listens, nothing is configured, no token: each is said, none passes for a delivered message."""
    connect(f"my_{channel}", **fields)

    with pytest.raises(plugin().ChannelDead):
        plugin().send(route(channel), message())


def test_a_route_without_a_connection_is_off(connect: Any) -> None:
    """It exists or it does not."""
    connect("my_slack", conn_type="slackwebhook", password="x")

    assert plugin().is_connected(route("slack"))
    assert not plugin().is_connected(route("apprise"))
