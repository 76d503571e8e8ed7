"""Results of tasks, and how they are read from the hub: once, as they arrive, with the outputs going straight to the disk."""

from __future__ import annotations

import json
import shutil
import tempfile
import weakref
from datetime import datetime
from pathlib import Path
from typing import Any, Callable, Dict, List, Mapping, Optional, Tuple, TypeVar

from ._calls import Attempts, Calls, quoted
from ._errors import NotAHub, TaskCanceled, TaskFailed, WorkbenchError
from ._json_stream import JsonReader, NotJson
from ._outputs import Staging, safe_parts, stored_names
from ._response import Response

ENDED = ("FINISHED", "FAILED", "CANCELED")
CONTENT = ("outputFiles", "[]", "content")
# Outputs of a task that are kept in memory when no folder is given; more are read again when they are asked for.
MEMORY_BYTES = 1024 * 1024

Found = TypeVar("Found")


class Result:
    """The end of a task.

    `point` and `number` are those of a sweep. Times are local times of the hub. `files` are the outputs that were put into a
    folder, by name.
    """

    def __init__(self, document: Mapping[str, Any], files: Mapping[str, Path]) -> None:
        self.id = str(document["id"])
        self.status = str(document["status"])
        self.message: Optional[str] = document.get("message")
        self.batch_execution_status: Optional[str] = document.get("batchExecutionStatus")
        self.instance: Optional[str] = document.get("executingWorkbench", {}).get("id")
        self.requested = _time(document.get("requestedDatetime"))
        self.started = _time(document.get("startedDatetime"))
        self.ended = _time(document.get("endedDatetime"))
        self.stored: Dict[str, int] = {each["name"]: each["size"] for each in document.get("storedFiles", [])}
        self.files: Dict[str, Path] = dict(files)
        self.point: Mapping[str, object] = {}
        self.number: Optional[int] = None
        self._contents: Optional[Dict[str, bytes]] = None
        self._fetch: Optional[Callable[[Path], Result]] = None

    @property
    def ok(self) -> bool:
        """Whether the task has finished successfully."""
        return self.status == "FINISHED"

    @property
    def names(self) -> List[str]:
        """Names of the outputs, with `/` between their parts."""
        self._load()
        return sorted([*self.files, *(self._contents or {})])

    def read(self, name: str) -> bytes:
        """Content of an output. Raises `FileNotFoundError` when there is none of this name."""
        self._load()
        if self._contents is not None and name in self._contents:
            return self._contents[name]
        if name in self.files:
            return self.files[name].read_bytes()
        known = ", ".join(self.names) or "none"
        outputs = f"its outputs: {known}"
        raise FileNotFoundError(f"the task {self.id} ({self.status}) has no output {name}; {outputs}")

    def text(self, name: str, encoding: str = "utf-8") -> str:
        """Content of an output as text."""
        return self.read(name).decode(encoding)

    def json(self, name: str) -> Any:
        """Content of an output as JSON."""
        return json.loads(self.read(name))

    def check(self) -> Result:
        """Raises `TaskFailed` or `TaskCanceled` unless the task has finished."""
        reason = f"the task {self.id} is {self.status}" + (f": {self.message}" if self.message else "")
        if self.status == "CANCELED":
            raise TaskCanceled(reason, self)
        if self.status != "FINISHED":
            raise TaskFailed(reason, self)
        return self

    def __repr__(self) -> str:
        return f"<Result {self.id} {self.status}>"

    def _load(self) -> None:
        """Reads the outputs that were too large to keep, into a temporary folder that goes with this object."""
        if self._contents is None and self._fetch is not None:
            folder = tempfile.mkdtemp(prefix="workbench-")
            weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)
            self.files = self._fetch(Path(folder)).files
            self._fetch = None


def read_result(calls: Calls, kind: str, task_id: str, *, poll_s: int = 0) -> Optional[Result]:
    """The result of a task, `None` when it has not ended after `poll_s` seconds.

    Outputs are kept in memory, or read again later when they are large.
    """

    def again(into: Path) -> Result:
        found = receive_result(calls, kind, task_id, into)
        if found is None:
            raise WorkbenchError(f"the task {task_id} had ended and runs again")
        return found

    return _read(calls, kind, task_id, poll_s, lambda response: _read_small(response, again))


def receive_result(
    calls: Calls,
    kind: str,
    task_id: str,
    folder: Path,
    *,
    poll_s: int = 0,
    overwrite: bool = False,
    get_stored: Optional[Callable[[str, Path], object]] = None,
) -> Optional[Result]:
    """The result of a task whose outputs are put into a folder, `None` when it has not ended after `poll_s` seconds.

    `get_stored` downloads a file of the output storage to a path; with it, these files are put into the folder, too. All appear
    there when all are complete.
    """
    with Staging(folder, overwrite) as staging:
        received = _read(calls, kind, task_id, poll_s, lambda response: _read_into(response, staging))
        if received is None:
            return None
        result, names = received
        stored = {} if get_stored is None else stored_names(result.id, result.stored, names)
        names.extend(stored.values())
        # Before much is downloaded for nothing.
        staging.check(names)
        for name in stored:
            assert get_stored is not None
            get_stored(name, staging.next_path())
        result.files = staging.place(names)
        return result


def _read(
    calls: Calls, kind: str, task_id: str, poll_s: int, read_body: Callable[[Response], Optional[Found]]
) -> Optional[Found]:
    def read(attempts: Attempts) -> Optional[Found]:
        path = f"/api/2.0/workbench/task/{kind}/{quoted(task_id)}/result"
        response = calls.open("GET", path, query={"timeout": poll_s}, poll_s=poll_s, attempts=attempts)
        try:
            return read_body(response)
        except NotJson as error:
            raise NotAHub(f"{calls.transport.url} is no Workbench Hub: {error}") from error
        finally:
            response.close()

    return calls.again(read)


def _read_into(response: Response, staging: Staging) -> Optional[Tuple[Result, List[Tuple[str, ...]]]]:
    """The result with the names of the outputs, which are in the staging, in the same order."""
    # An earlier try may have broken off.
    staging.clear()

    def sink_for(path: Tuple[str, ...]) -> Optional[Callable[[bytes], None]]:
        if path != CONTENT:
            return None
        staging.begin()
        return staging.write

    document = _document(JsonReader(response.read_chunk, sink_for).value())
    if document["status"] not in ENDED:
        return None
    names = [_parts_of(file) for file in document.get("outputFiles", [])]
    return Result(document, {}), names


class _Enough(Exception):
    """The outputs are too large to be kept in memory."""


def _read_small(response: Response, fetch: Callable[[Path], Result]) -> Optional[Result]:
    contents: List[List[bytes]] = []
    size = 0

    def write(content: bytes) -> None:
        nonlocal size
        size += len(content)
        if size > MEMORY_BYTES and "id" in reader.root and "status" in reader.root:
            raise _Enough
        contents[-1].append(content)

    def sink_for(path: Tuple[str, ...]) -> Optional[Callable[[bytes], None]]:
        if path != CONTENT:
            return None
        contents.append([])
        return write

    reader = JsonReader(response.read_chunk, sink_for)
    try:
        document = _document(reader.value())
    except _Enough:
        result = Result(reader.root, {})
        result._fetch = fetch
        return result
    if document["status"] not in ENDED:
        return None
    result = Result(document, {})
    names = ["/".join(_parts_of(file)) for file in document.get("outputFiles", [])]
    result._contents = {name: b"".join(content) for name, content in zip(names, contents)}
    return result


def _document(value: object) -> Dict[str, Any]:
    if not isinstance(value, dict) or "id" not in value or "status" not in value:
        raise NotJson("the result of a task lacks its id or status")
    return value


def _parts_of(file: Mapping[str, Any]) -> Tuple[str, ...]:
    return safe_parts(file.get("directory"), str(file["filename"]))


def _time(text: Optional[str]) -> Optional[datetime]:
    return None if text is None else datetime.fromisoformat(text)
