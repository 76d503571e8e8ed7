"""Uploads to the input storage in parts (tus 1.0), which go on after a cut, a restart of the hub, or of the program."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any, Dict, Iterator, NamedTuple, Optional, cast

from ._calls import Calls
from ._errors import Conflict, Locked, LostAnswer, MethodNotAllowed, NotFound, UsageError, WorkbenchError
from ._progress import Progress, Reporter
from ._response import CHUNK_BYTES, Body
from ._scope import current_scope

UPLOADS = "/api/x/storage/input/uploads"
VERSION = {"Tus-Resumable": "1.0.0"}
# Larger files are sent in parts.
ONE_REQUEST_BYTES = 8 * 1024 * 1024
PART_BYTES = 8 * 1024 * 1024
# Tries without progress, and the time between them.
MAX_TRIES = 60
# The same while another request sends the upload, or the hub works on its end, which takes minutes for a very large file.
MAX_LOCKED_TRIES = 1800
BETWEEN_TRIES_S = 1.0


class FileToSend(NamedTuple):
    """A file of the disk. With its digest, the hub verifies it, and an earlier upload of it is continued."""

    source: Path
    name: str
    digest: str
    size: int
    overwrite: bool
    encrypt: bool


def send_in_parts(calls: Calls, file: FileToSend, report: Reporter) -> bool:
    """Sends a file. False, without an effect, when the hub is too old to take it in parts."""
    sender = _PartSender(calls, file, report)
    try:
        upload = sender.begin()
    except (NotFound, MethodNotAllowed):
        return False
    sender.send(upload)
    return True


class _PartSender:
    def __init__(self, calls: Calls, file: FileToSend, report: Reporter) -> None:
        self._calls = calls
        self._file = file
        self._report = report
        self._is_locked = False

    def begin(self) -> Dict[str, Any]:
        """An upload of the same content that was interrupted, or a new one."""
        wanted = self._file._asdict()
        keys = ("name", "size", "digest", "overwrite", "encrypt")
        for upload in reversed(self._calls.json("GET", UPLOADS)["uploads"]):
            if all(upload.get(key) == wanted[key] for key in keys):
                return cast(Dict[str, Any], upload)
        return self._new()

    def send(self, upload: Dict[str, Any]) -> None:
        tries = 0
        while not upload["stored"]:
            before = int(upload["received"])
            upload = self._state(upload) if self._is_locked else self._part(upload)
            if upload["stored"] or int(upload["received"]) > before:
                tries = 0
                continue
            tries += 1
            if tries >= (MAX_LOCKED_TRIES if self._is_locked else MAX_TRIES):
                raise WorkbenchError(f"{self._file.source} makes no progress: {before} bytes are at the hub")
            current_scope().sleep(BETWEEN_TRIES_S)

    def _new(self) -> Dict[str, Any]:
        file = self._file
        metadata = f"filename {_encoded(file.name)},sha256 {_encoded(file.digest)}"
        headers = {**VERSION, "Upload-Length": str(file.size), "Upload-Metadata": metadata}
        query = {"overwrite": file.overwrite, "encrypt": file.encrypt}
        # At worst, an upload to which nothing is sent expires.
        begun = self._calls.json("POST", UPLOADS, query=query, headers=headers, is_repeatable=lambda: True)
        return cast(Dict[str, Any], begun)

    def _part(self, upload: Dict[str, Any]) -> Dict[str, Any]:
        """Sends the next part; the state of the upload afterwards."""
        offset = int(upload["received"])
        headers = {
            **VERSION,
            "Content-Type": "application/offset+octet-stream",
            "Upload-Offset": str(offset),
        }
        received: Optional[str] = None
        try:
            body = self._body(offset)
            response = self._calls.open("PATCH", _path(upload), headers=headers, body=body, is_repeatable=lambda: False)
            received = response.header("Upload-Offset")
            response.read()
        except (LostAnswer, Locked, Conflict):
            # What arrived is kept, or another client sends the same file.
            pass
        except NotFound:
            return self._new()
        if received is not None:
            return {**upload, "received": int(received), "stored": int(received) == self._file.size}
        return self._state(upload)

    def _state(self, upload: Dict[str, Any]) -> Dict[str, Any]:
        self._is_locked = False
        try:
            return cast(Dict[str, Any], self._calls.json("GET", _path(upload)))
        except Locked:
            self._is_locked = True
            return upload
        except NotFound:
            return self._new()

    def _body(self, offset: int) -> Body:
        file = self._file
        size = min(PART_BYTES, file.size - offset)

        def chunks() -> Iterator[bytes]:
            done = 0
            with file.source.open("rb") as content:
                content.seek(offset)
                while done < size:
                    chunk = content.read(min(CHUNK_BYTES, size - done))
                    if not chunk:
                        raise UsageError(f"{file.source} changed while it was sent")
                    done += len(chunk)
                    yield chunk
                    activity = f"upload {file.source.name}"
                    self._report(Progress(activity, offset + done, file.size, "bytes"))

        return Body(size, chunks)


def _path(upload: Dict[str, Any]) -> str:
    return f"{UPLOADS}/{upload['id']}"


def _encoded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()
