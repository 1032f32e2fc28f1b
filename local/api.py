"""Airflow's REST API as a few plain calls, standard library only.

Loopback only, so no proxy is asked. Reads are repeated while nobody answers (a restarting api-server) or the server fails at it (5xx);
writes never are, since the first try may have arrived.
"""

from __future__ import annotations

import http.client
import json
import time
from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import quote, urlencode

from local.errors import ApiError, ApiUnreachable

_PAGE: Final = 100
_PATIENCE_SECONDS: Final = 30.0


class Api:
    """A logged-in client.

    Args:
        port: where the api-server listens on 127.0.0.1.
        user: login name.
        password: its password.
    """

    def __init__(self, port: int, user: str, password: str) -> None:
        self._port = port
        self._login = {"username": user, "password": password}
        self._token: str | None = None

    def answers(self) -> bool:
        """Whether the api-server serves requests."""
        try:
            return self._send("GET", "/api/v2/version", None, None)[0] == http.client.OK
        except ApiUnreachable:
            return False

    def health(self) -> dict[str, Any]:
        """The body of the health address: state and heartbeat of each component."""
        answer: dict[str, Any] = self._read("/api/v2/monitor/health")
        return answer

    def get(self, path: str, **parameters: object) -> Any:
        """The answer to GET `/api/v2/<path>`. Raises ApiError, or ApiUnreachable; after half a minute where another try may do."""
        query = urlencode({name: value for name, value in parameters.items() if value is not None}, doseq=True)
        return self._read(f"/api/v2/{quote(path, safe='/~')}" + (f"?{query}" if query != "" else ""))

    def all(self, path: str, field: str, **parameters: object) -> list[dict[str, Any]]:
        """Every page of a collection: the items under `field`."""
        items: list[dict[str, Any]] = []
        while True:
            page = self.get(path, limit=_PAGE, offset=len(items), **parameters)
            items.extend(page[field])
            if len(page[field]) == 0 or len(items) >= page["total_entries"]:
                return items

    def post(self, path: str, body: Mapping[str, object]) -> Any:
        """The answer to POST `/api/v2/<path>`. Raises ApiError when refused."""
        return self._call("POST", f"/api/v2/{quote(path, safe='/~')}", body)

    def delete(self, path: str) -> None:
        """DELETE `/api/v2/<path>`. Raises ApiError when refused."""
        self._call("DELETE", f"/api/v2/{quote(path, safe='/~')}", None)

    def patch(self, path: str, body: Mapping[str, object]) -> Any:
        """The answer to PATCH `/api/v2/<path>`. Raises ApiError when refused."""
        return self._call("PATCH", f"/api/v2/{quote(path, safe='/~')}", body)

    def _read(self, path: str) -> Any:
        deadline = time.monotonic() + _PATIENCE_SECONDS
        while True:
            try:
                return self._call("GET", path, None)
            except (ApiError, ApiUnreachable) as error:
                refused = isinstance(error, ApiError) and error.status < http.client.INTERNAL_SERVER_ERROR
                if refused or time.monotonic() > deadline:
                    raise
                time.sleep(0.5)

    def _call(self, method: str, path: str, body: Mapping[str, object] | None) -> Any:
        if self._token is None:
            self._token = self._new_token()
        status, content = self._send(method, path, body, self._token)
        if status == http.client.UNAUTHORIZED:  # the token ran out
            self._token = self._new_token()
            status, content = self._send(method, path, body, self._token)
        if status >= http.client.BAD_REQUEST:
            raise _refusal(f"{method} {path}", status, content)
        return json.loads(content) if content != b"" else None

    def _new_token(self) -> str:
        status, content = self._send("POST", "/auth/token", self._login, None)
        if status != http.client.CREATED:
            raise _refusal("POST /auth/token", status, content)
        return str(json.loads(content)["access_token"])

    def _send(self, method: str, path: str, body: Mapping[str, object] | None, token: str | None) -> tuple[int, bytes]:
        connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=30)
        headers = {"Accept": "application/json", "Content-Type": "application/json"}
        if token is not None:
            headers["Authorization"] = f"Bearer {token}"
        try:
            connection.request(method, path, None if body is None else json.dumps(body), headers)
            response = connection.getresponse()
            return response.status, response.read()
        except (OSError, http.client.HTTPException) as error:
            raise ApiUnreachable(
                f"Airflow's API at 127.0.0.1:{self._port}",
                found=f"{type(error).__name__}: {error}",
                expected=f"an answer to {method} {path}",
                remedy="See the api-server's log.",
            ) from error
        finally:
            connection.close()


def _refusal(request: str, status: int, content: bytes) -> ApiError:
    return ApiError(
        request,
        found=f"{status} {content.decode(errors='replace')[:500]}",
        expected="success",
        remedy="See the api-server's log.",
    )
