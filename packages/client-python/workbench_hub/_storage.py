"""The input storage, where files are handed over once, and downloads from the output storage."""

from __future__ import annotations

import hashlib
import os
import re
import secrets
import threading
import time
from pathlib import Path
from typing import Callable, Dict, Iterable, Iterator, Optional, Tuple

from . import _parts
from ._calls import Attempts, Calls, quoted
from ._errors import Conflict, Forbidden, Locked, OutputExists, UsageError, WorkbenchError
from ._job import LocalPath, StoredFile, local_file
from ._progress import Choice, Progress, Reporter
from ._put import put
from ._response import CHUNK_BYTES, Body

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{2,63}")
# Digits of the SHA-256 in the name of a file that is handed over once.
NAME_DIGITS = 32
# Time after which the expiry of such a file is renewed before it is used again.
RENEW_AFTER_S = 600.0


class Storage:
    """Files that clients upload, to be used in many tasks, and files that scripts leave."""

    def __init__(self, calls: Calls, progress: Choice) -> None:
        self._calls = calls
        self._progress = progress
        self._lock = threading.Lock()
        self._digests: Dict[Tuple[str, int, int], str] = {}
        self._checked: Dict[str, float] = {}
        # Names of the user's own for those that files of other users have.
        self._own_names: Dict[str, str] = {}
        self._is_active: Optional[bool] = None

    def is_active(self) -> bool:
        """Whether the input storage of the hub is on."""
        return bool(self._calls.json("GET", "/api/2.1/storage/input/status")["active"])

    def put(
        self,
        path: LocalPath,
        name: Optional[str] = None,
        *,
        overwrite: bool = False,
        encrypt: bool = False,
        progress: Choice = None,
    ) -> StoredFile:
        """Uploads a file, streamed from the disk, under `name` or its own name. One above 8 MiB is sent in parts, and goes on
        after cuts, restarts of the hub, and where an interrupted upload of the same content ended.

        Raises `Conflict` when the name exists and `overwrite` is false, and `TooLarge` above the limit of the hub.
        """
        source = local_file(path)
        stored = StoredFile(name or source.name)
        if not NAME.fullmatch(stored.name):
            raise UsageError(
                f"{stored.name!r} cannot be a name in the input storage; give a name of 3 to 64 letters, digits and . _ -"
            )
        self._upload(source, stored.name, overwrite, encrypt, None, progress)
        return stored

    def keep(self, path: LocalPath, *, progress: Choice = None) -> StoredFile:
        """Makes sure that the content of a file is in the input storage, and sends it only if it is not.

        Its name there is made of the file's name and digest, so that a changed file is another one; and of the user's name, where
        a file of another user has that one.
        """
        source = local_file(path)
        with self._lock:
            digest = self._digest_of(source)
            shared = _name_of(source, digest)
            name = self._own_names.get(shared, shared)
            try:
                self._once(source, name, digest, progress)
            except Forbidden:
                if name != shared:
                    raise
                # Another user may have stored other content under this name.
                name = _name_of(source, self._own_digest(digest))
                self._once(source, name, digest, progress)
                self._own_names[shared] = name
        return StoredFile(name)

    def _once(self, source: Path, name: str, digest: str, progress: Choice) -> None:
        """Stores a file, unless one of this name is there. Raises `Forbidden` when that is another user's."""
        checked = self._checked.get(name)
        if checked is not None and time.monotonic() - checked < RENEW_AFTER_S:
            return
        if not self.renew(name):
            try:
                self._upload(source, name, False, False, digest, progress)
            except Conflict:
                # Somebody has handed it over at the same time.
                if not self.renew(name):
                    raise
        self._checked[name] = time.monotonic()

    def _own_digest(self, digest: str) -> str:
        """Digest of a content and the name of the user, the same each time."""
        user = self._calls.json("GET", "/api/2.0/user")["username"]
        return hashlib.sha256(f"{digest} {user}".encode()).hexdigest()

    def name_for(self, path: Path, progress: Choice) -> Optional[str]:
        """Name of the kept file, `None` while the input storage is off."""
        with self._lock:
            if self._is_active is None:
                self._is_active = self.is_active()
        try:
            return self.keep(path, progress=progress).name if self._is_active else None
        except Locked:
            # It may have been switched off since it was asked.
            if self.is_active():
                raise
            self._is_active = False
            return None

    def forget(self) -> None:
        """Forgets which files are in the storage: they may have expired or been removed."""
        with self._lock:
            self._checked.clear()
            self._own_names.clear()
            self._is_active = None

    def has(self, names: Iterable[str]) -> bool:
        """Whether the input storage is on and has all of these files."""
        try:
            return all(self.exists(name) for name in names)
        except Locked:
            return False

    def exists(self, name: str) -> bool:
        """Whether there is an input file of this name."""
        return bool(self._calls.json("GET", f"/api/2.0/storage/input/{quoted(name)}")["exists"])

    def renew(self, name: str) -> bool:
        """Begins the time until the expiry of an input file again. False when there is no such file."""
        path = f"/api/2.0/storage/input/{quoted(name)}"
        return bool(self._calls.json("GET", path, query={"renewExpirationTimestamp": True})["exists"])

    def remove(self, name: str) -> None:
        """Deletes an input file, if it exists. Tasks that refer to it keep its content."""
        self._calls.done("DELETE", f"/api/2.0/storage/input/{quoted(name)}/delete")
        with self._lock:
            self._checked.pop(name, None)

    def get(
        self, name: str, path: LocalPath, *, overwrite: bool = False, progress: Choice = None
    ) -> Path:
        """Downloads a file of the output storage to `path`.

        A broken transfer is continued, and the file appears only when it is complete and has the digest that the hub names.
        """
        target = Path(path)
        if not overwrite and os.path.lexists(target):
            raise OutputExists([str(target)])
        part = target.with_name(f".workbench-{secrets.token_hex(8)}.part")
        report = Reporter(self._progress if progress is None else progress)
        try:
            _Download(self._calls, name, part, report).run()
            put(part, target)
        finally:
            report.end()
            part.unlink(missing_ok=True)
        return target

    def _digest_of(self, source: Path) -> str:
        status = source.stat()
        key = (str(source.resolve()), status.st_size, status.st_mtime_ns)
        if key not in self._digests:
            digest = hashlib.sha256()
            with source.open("rb") as file:
                for chunk in iter(lambda: file.read(CHUNK_BYTES), b""):
                    digest.update(chunk)
            self._digests[key] = digest.hexdigest()
        return self._digests[key]

    def _upload(
        self,
        source: Path,
        name: str,
        overwrite: bool,
        encrypt: bool,
        digest: Optional[str],
        progress: Choice,
    ) -> None:
        report = Reporter(self._progress if progress is None else progress)
        size = source.stat().st_size
        if size > _parts.ONE_REQUEST_BYTES:
            known = digest or self._digest_of(source)
            file = _parts.FileToSend(source, name, known, size, overwrite, encrypt)
            try:
                if _parts.send_in_parts(self._calls, file, report):
                    return
            finally:
                report.end()
        boundary = secrets.token_hex(16)
        body = _form_of(source, name, boundary, digest, report)
        if body.size > CHUNK_BYTES:
            # Before much is sent for nothing: a token that has expired is renewed.
            self._calls.json("GET", "/api/2.0/user")
        try:
            self._calls.done(
                "POST",
                "/api/2.0/storage/input/upload",
                query={"overwrite": overwrite, "encrypt": encrypt},
                body=body,
                headers={"Content-Type": f"multipart/form-data; boundary={boundary}"},
                # An upload is atomic: at worst, a repeated one meets the file of the first.
                is_repeatable=lambda: True,
                poll_s=body.size / 1_000_000,
            )
        finally:
            report.end()


def _form_of(source: Path, name: str, boundary: str, digest: Optional[str], report: Reporter) -> Body:
    head = (
        f"--{boundary}\r\n"
        f'Content-Disposition: form-data; name="file"; filename="{name}"\r\n'
        "Content-Type: application/octet-stream\r\n\r\n"
    ).encode()
    tail = f"\r\n--{boundary}--\r\n".encode()
    size = source.stat().st_size

    def chunks() -> Iterator[bytes]:
        yield head
        done = 0
        sent = hashlib.sha256()
        with source.open("rb") as file:
            while done < size:
                chunk = file.read(min(CHUNK_BYTES, size - done))
                if not chunk:
                    break
                done += len(chunk)
                sent.update(chunk)
                yield chunk
                report(Progress(f"upload {source.name}", done, size, "bytes"))
        # The end is not sent, so that the hub keeps nothing.
        if done < size or (digest is not None and sent.hexdigest() != digest):
            raise UsageError(f"{source} changed while it was sent")
        yield tail

    return Body(len(head) + size + len(tail), chunks)


class _Download:
    """Transfer of one output file into `part`, which goes on where it was cut."""

    def __init__(self, calls: Calls, name: str, part: Path, report: Reporter) -> None:
        self._calls = calls
        self._name = name
        self._path = f"/api/2.0/storage/output/{quoted(name)}/download"
        self._part = part
        self._report = report
        self._tag: Optional[str] = None
        self._digest = hashlib.sha256()
        self._done = 0

    def run(self) -> None:
        with self._part.open("xb") as file:
            self._calls.again(
                lambda attempts: self._transfer(attempts, file.write, file.truncate, file.seek)
            )
        expected = (self._tag or "").strip('"')
        if re.fullmatch(r"[0-9a-f]{64}", expected) and self._digest.hexdigest() != expected:
            raise WorkbenchError(f"{self._name} arrived damaged: its digest is not that which the hub names")

    def _transfer(
        self,
        attempts: Attempts,
        write: Callable[[bytes], int],
        truncate: Callable[[int], int],
        seek: Callable[[int], int],
    ) -> None:
        headers = {}
        if self._done > 0 and self._tag is not None:
            headers = {"Range": f"bytes={self._done}-", "If-Range": self._tag}
        response = self._calls.open("GET", self._path, headers=headers, attempts=attempts)
        if response.status != 206:
            seek(0)
            truncate(0)
            self._done, self._digest = 0, hashlib.sha256()
        self._tag = response.header("ETag")
        length = response.header("Content-Length")
        total = self._done + int(length) if length is not None else None
        try:
            while True:
                chunk = response.read_chunk()
                if not chunk:
                    return
                write(chunk)
                self._digest.update(chunk)
                self._done += len(chunk)
                self._report(Progress(f"download {self._name}", self._done, total, "bytes"))
        finally:
            response.close()


def _name_of(source: Path, digest: str) -> str:
    """`gear-<digest>.xml` for `gear.xml`."""
    suffix = re.sub(r"[^A-Za-z0-9._-]", "", source.suffix)[:12]
    suffix = "" if suffix == "." else suffix
    room = 64 - NAME_DIGITS - 1 - len(suffix)
    stem = re.sub(r"[^A-Za-z0-9_-]+", "-", source.stem).strip("-_")[:room] or "file"
    return f"{stem}-{digest[:NAME_DIGITS]}{suffix}"
