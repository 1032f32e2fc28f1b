"""Sending one message over one route with the providers' own notifiers, and saying truthfully whether it went.

Three traps of the notifiers are avoided here. Calling one renders its texts as templates: a level named `{{ ... }}` in somebody's data
would be executed, so `notify` is called and nothing is rendered. The Apprise notifier drops the answer of its services, so a dead
one looks delivered: the services are asked directly. And a Slack text is markup: `<`, `>` and `&` are escaped.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from headrace.errors import RetryableError

if TYPE_CHECKING:
    from headrace.quality.message import Message
    from headrace.spec.alerts import AlertRoute

_PATIENCE_SECONDS: Final = 10


class ChannelDead(RetryableError):
    """A message did not get through. The text names the kind of error only: others may hold an address with its token."""


def is_connected(route: AlertRoute) -> bool:
    """Whether the route's connection exists. A route without one is off."""
    from airflow.sdk import BaseHook
    from airflow.sdk.exceptions import AirflowNotFoundException

    try:
        BaseHook.get_connection(route.connection)
    except AirflowNotFoundException:
        return False
    return True


def send(route: AlertRoute, message: Message) -> None:
    """Deliver a message. Raises ChannelDead when it did not go through, whatever the reason."""
    try:
        _SENDERS[route.channel](route, message)
    except Exception as error:
        raise ChannelDead(
            f"alert route {route.name}",
            found=type(error).__name__,
            expected=f"a message delivered over the connection {route.connection}",
            remedy="Test the connection; what was not told is told by the next run.",
        ) from error


def _slack(route: AlertRoute, message: Message) -> None:
    from airflow.providers.slack.notifications.slack_webhook import SlackWebhookNotifier

    text = message.text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    SlackWebhookNotifier(
        slack_webhook_conn_id=route.connection, text=text, unfurl_links=False, unfurl_media=False, timeout=_PATIENCE_SECONDS
    ).notify({})  # type: ignore[no-untyped-call] # the provider leaves it untyped


def _smtp(route: AlertRoute, message: Message) -> None:
    from airflow.providers.smtp.notifications.smtp import SmtpNotifier

    SmtpNotifier(
        smtp_conn_id=route.connection,
        to=list(route.to),
        subject=message.subject,
        html_content=message.html,
        mime_subtype="alternative",
    ).notify({})


def _apprise(route: AlertRoute, message: Message) -> None:
    import apprise
    from airflow.providers.apprise.hooks.apprise import AppriseHook

    hook, services = AppriseHook(route.connection), apprise.Apprise()
    hook.set_config_from_conn(hook.get_connection(route.connection), services)
    kind = apprise.NotifyType.SUCCESS if message.level == "closed" else apprise.NotifyType.WARNING
    if len(services) == 0 or not services.notify(body="\n".join(message.lines), title=message.subject, notify_type=kind):
        raise ConnectionError("a service refused the message, or none is configured")


_SENDERS: Final = {"slack": _slack, "smtp": _smtp, "apprise": _apprise}
