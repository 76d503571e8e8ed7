"""The hubs that test/scenarios/python-client.test.ts starts: an open one with MuJoCo, and one with login and TLS."""

from __future__ import annotations

import os
import tempfile
import time
import unittest
from pathlib import Path
from typing import Any, Callable, Dict, List, TypeVar
from unittest import mock

from workbench_hub import Hub
from workbench_hub._calls import Calls
from workbench_hub._response import Response

JOB = Path(__file__).parent / "job"
MODEL = JOB / "ball.xml"
SCRIPT = JOB / "throw.js"
PASSWORD = "correct horse battery staple"

Found = TypeVar("Found")


def setting(name: str) -> str:
    """A setting of the scenario; the test is skipped without it."""
    value = os.environ.get(name)
    if value is None:
        raise unittest.SkipTest(f"{name} is not set: start the tests by test/scenarios/python-client.test.ts")
    return value


def open_hub(**options: object) -> Hub:
    return Hub(setting("WB_TEST_URL"), **options)  # type: ignore[arg-type]


def secure_hub(user: str) -> Hub:
    return Hub(
        setting("WB_TEST_SECURE_URL"), user=user, password=PASSWORD, ca_file=setting("WB_TEST_CA_FILE")
    )


def eventually(look: Callable[[], Found], timeout_s: float = 60) -> Found:
    """The first true value of `look`."""
    give_up_at = time.monotonic() + timeout_s
    while True:
        found = look()
        if found:
            return found
        if time.monotonic() > give_up_at:
            raise AssertionError(f"not true within {timeout_s} s")
        time.sleep(0.02)


class OnSite(unittest.TestCase):
    """A test with the open hub and a folder of its own."""

    def setUp(self) -> None:
        self.hub = open_hub()
        self.addCleanup(self.hub.close)
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def contents(self, folder: Path) -> Dict[str, bytes]:
        """Every file below a folder, by its path there."""
        files = (path for path in folder.rglob("*") if path.is_file())
        return {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}


def recorded_requests(test: unittest.TestCase) -> List[str]:
    """Paths of the requests that are made from now on until the end of the test."""
    made: List[str] = []
    send = Calls.open

    def recording(calls: Calls, method: str, path: str, **options: Any) -> Response:
        made.append(path)
        return send(calls, method, path, **options)

    patch = mock.patch.object(Calls, "open", recording)
    patch.start()
    test.addCleanup(patch.stop)
    return made


def writing(text: str) -> bytes:
    """A script for the runner's Node.js that writes files: `out.txt` with this text."""
    return f"require('fs').writeFileSync('out.txt', {text!r})".encode()
