"""Requests that are safe to repeat by their idempotency key (contract 12.12)."""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING

from ._errors import HubUnreachable

if TYPE_CHECKING:
    from ._calls import Calls

KEY_HEADER = "Idempotency-Key"


def new_key() -> str:
    """A key that no other request has."""
    return secrets.token_hex(16)


def takes_keys(calls: Calls, path: str) -> bool:
    """Whether the hub recognizes a repeated POST to this path, as its interface names it, by the key of the request."""
    try:
        document = calls.json("GET", "/openapi.json")
    except HubUnreachable:
        return False
    operation = document.get("paths", {}).get(path, {}).get("post", {})
    named = [
        str(parameter.get("name", "")).lower()
        for parameter in operation.get("parameters", [])
        if parameter.get("in") == "header"
    ]
    return KEY_HEADER.lower() in named
