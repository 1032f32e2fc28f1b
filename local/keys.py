"""The secrets of one house: made at its first start, kept with it, shown to nobody but its user."""

from __future__ import annotations

import base64
import dataclasses
import json
import secrets
from dataclasses import dataclass, field
from pathlib import Path

from local.places import write_private


def _fernet_key() -> str:
    # Fernet's own format: 32 random bytes, URL-safe base64 with padding.
    return base64.urlsafe_b64encode(secrets.token_bytes(32)).decode()


@dataclass(frozen=True, kw_only=True)
class Keys:
    """Random keys; `repr` shows none of them, so that a log line cannot."""

    fernet_key: str = field(default_factory=_fernet_key, repr=False)
    jwt_secret: str = field(default_factory=lambda: secrets.token_urlsafe(64), repr=False)
    api_secret_key: str = field(default_factory=lambda: secrets.token_urlsafe(32), repr=False)
    s3_access_key: str = field(default_factory=lambda: secrets.token_hex(10).upper(), repr=False)
    s3_secret_key: str = field(default_factory=lambda: secrets.token_hex(20), repr=False)
    ui_password: str = field(default_factory=lambda: secrets.token_urlsafe(12), repr=False)


def house_keys(path: Path) -> Keys:
    """The keys kept at `path`; made there when it does not exist."""
    if path.exists():
        return Keys(**json.loads(path.read_text(encoding="utf-8")))
    keys = Keys()
    write_private(path, json.dumps(dataclasses.asdict(keys), indent=2) + "\n")
    return keys
