"""Where a hub is and who calls it: arguments, the environment, and a profile file for several hubs.

The profile file is JSON: `{"default": "site", "profiles": {"site": {"url": "https://…", "token": "wbh_…", "caFile": "ca.pem"}}}`.
"""

from __future__ import annotations

import json
import os
import stat
import urllib.parse
from pathlib import Path
from typing import Any, Dict, NamedTuple, Optional, Tuple, cast

from ._errors import UsageError

KEYS = ("url", "token", "caFile")


class Place(NamedTuple):
    """Address of a hub, and what is known about how to reach it."""

    url: str
    token: Optional[str] = None
    ca_file: Optional[str] = None
    # Prints a token that is valid now, where tokens are renewed.
    token_command: Optional[Tuple[str, ...]] = None


def find_place(url: Optional[str], profile: Optional[str]) -> Place:
    """The first of: the profile that is asked for, the given address, `WB_URL`, the profile `WB_PROFILE`, the default profile.

    `WB_TOKEN` belongs to `WB_URL`. It is also used for an address that is given while `WB_URL` is not set, but never sent to
    another hub than that of `WB_URL`.
    """
    if url is not None and profile is not None:
        raise UsageError("give either the address of a hub or the name of a profile, not both")
    if profile is not None:
        return _from_file(profile)
    from_environment = os.environ.get("WB_URL") or None
    token = os.environ.get("WB_TOKEN") or None
    ca_file = os.environ.get("WB_CA_FILE") or None
    if url is not None:
        is_same = from_environment is None or _origin(from_environment) == _origin(url)
        return Place(url, token if is_same else None, ca_file)
    if from_environment is not None:
        return Place(from_environment, token, ca_file)
    found = _from_file(os.environ.get("WB_PROFILE") or None)
    return found._replace(token=token or found.token, ca_file=found.ca_file or ca_file)


def profile_file() -> Path:
    """The profile file of this user; `WB_PROFILES` names another."""
    named = os.environ.get("WB_PROFILES")
    if named:
        return Path(named)
    if os.name == "nt":
        base = Path(os.environ.get("APPDATA") or Path.home() / "AppData" / "Roaming")
    else:
        base = Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config")
    return base / "workbench-hub" / "profiles.json"


def _from_file(name: Optional[str]) -> Place:
    path = profile_file()
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError as error:
        if name is None:
            raise UsageError(
                f"no hub is named: give its address, set WB_URL, or describe it in {path}"
            ) from error
        raise UsageError(f"there is no profile {name}, since there is no file {path}") from error
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{path} cannot be read: {error}") from error
    chosen, found = _chosen(path, text, name)
    if "token" in found:
        _refuse_readable(path)
    ca_file = found.get("caFile")
    place = Place(found["url"], found.get("token"), None if ca_file is None else str(path.parent / ca_file))
    if "signOn" not in found:
        return place
    return place._replace(token=None, token_command=("wb", "token", "--profile", chosen))


def _chosen(path: Path, text: str, name: Optional[str]) -> Tuple[str, Dict[str, str]]:
    try:
        document: Any = json.loads(text)
    except ValueError as error:
        raise UsageError(f"{path} is not JSON: {error}") from error
    profiles = document.get("profiles") if isinstance(document, dict) else None
    if not isinstance(profiles, dict):
        raise UsageError(f'{path} must be an object with "profiles"')
    chosen = name if name is not None else document.get("default")
    if chosen is None:
        raise UsageError(f'{path} has no "default"; choose one of its profiles: {", ".join(profiles)}')
    found = profiles.get(chosen)
    if not isinstance(found, dict):
        raise UsageError(f"{path} has no profile {chosen}, but {', '.join(profiles) or 'none at all'}")
    for key, value in found.items():
        if key in KEYS and not isinstance(value, str):
            raise UsageError(f"{path}: {key} of the profile {chosen} must be a text")
    if "url" not in found:
        raise UsageError(f"{path}: the profile {chosen} has no url")
    return chosen, cast(Dict[str, str], found)


def _refuse_readable(path: Path) -> None:
    if os.name != "nt" and stat.S_IMODE(path.stat().st_mode) & 0o077:
        raise UsageError(f"{path} holds a token and can be read by others: chmod 600 {path}")


def _origin(url: str) -> str:
    parts = urllib.parse.urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}".lower()
