"""Verification of webhooks, for those who receive them."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import json
import re
import time
from email.message import Message
from typing import Any, Dict, Mapping, Optional, Sequence, Union

from ._errors import WorkbenchError


class WebhookRefused(WorkbenchError):
    """A message is not a webhook of the hub, or an old one that somebody sends again."""


def verify_webhook(
    body: Union[bytes, str],
    headers: Union[Mapping[str, str], Message],
    secret: Union[str, Sequence[str]],
    tolerance: float = 300,
    now: Optional[float] = None,
) -> Dict[str, Any]:
    """The message of a webhook, if the hub has signed it; raises `WebhookRefused` otherwise.

    `body` is the body as it was received. `secret` is the output of `workbench-hub webhook secret`, or several while they are
    exchanged. `tolerance` is the largest age of a message in seconds; `now` replaces the time of the clock.
    """
    named = {str(name).lower(): value for name, value in headers.items()}
    message_id, timestamp, signatures = (
        named.get(f"webhook-{part}", "") for part in ("id", "timestamp", "signature")
    )
    if not message_id or re.fullmatch(r"[0-9]{1,12}", timestamp) is None:
        raise WebhookRefused("the headers webhook-id and webhook-timestamp are missing or malformed")
    if abs((time.time() if now is None else now) - int(timestamp)) > tolerance:
        raise WebhookRefused("the message is too old, or the clock of this machine is wrong")
    content = body.encode() if isinstance(body, str) else body
    signed = f"{message_id}.{timestamp}.".encode() + content
    secrets = [secret] if isinstance(secret, str) else secret
    expected = [hmac.new(_key_of(each), signed, hashlib.sha256).digest() for each in secrets]
    given = [_decoded(each[3:]) for each in signatures.split(" ") if each.startswith("v1,")]
    if not any(hmac.compare_digest(one, other) for one in expected for other in given):
        raise WebhookRefused("no signature of the message is right")
    message: Dict[str, Any] = json.loads(content)
    return message


def _key_of(secret: str) -> bytes:
    key = _decoded(secret[len("whsec_") :]) if secret.startswith("whsec_") else b""
    if not key:
        raise WebhookRefused("the secret must be the output of workbench-hub webhook secret")
    return key


def _decoded(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return b""
