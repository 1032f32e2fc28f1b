"""Where alerts go. A route is off until its Airflow connection exists, so these cost nothing as they stand.

Add a connection in the UI (Admin, Connections) to switch one on: `headrace_slack` (Slack Incoming Webhook), `headrace_smtp` (SMTP, with
`from_email` in its extra), `headrace_apprise` (Apprise, for everything else). Several routes may share a channel: one for everything,
one for an owner's critical failures at night.
"""

from __future__ import annotations

from headrace.spec.alerts import AlertRoute

SLACK = AlertRoute(name="slack", channel="slack", connection="headrace_slack")
MAIL = AlertRoute(name="mail", channel="smtp", connection="headrace_smtp", at_least="critical", to=("data-on-call@example.com",))
APPRISE = AlertRoute(name="apprise", channel="apprise", connection="headrace_apprise")
