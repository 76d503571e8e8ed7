"""Jobs in plain field words, and the request that creates a task of one."""

from __future__ import annotations

import base64
import json
import math
import numbers
import os
import re
import secrets
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Callable, Dict, Iterable, Iterator, List, Mapping, Optional, Sequence, Tuple, Union

from ._errors import UsageError
from ._response import Body

# Three bytes are four characters of Base64.
ENCODED_BYTES = 3 * 64 * 1024
# Largest additional file that travels in the request; larger ones go to the input storage, once.
INLINE_BYTES = 256 * 1024

# Longest name of a file, in UTF-8.
MAX_NAME_BYTES = 255

LocalPath = Union[str, "os.PathLike[str]"]


@dataclass(frozen=True)
class StoredFile:
    """A file of the input storage, by its name there."""

    name: str


@dataclass(frozen=True)
class HostFile:
    """A file that the simulation host reads itself; `copy` copies it into the working directory."""

    path: str
    copy: bool = False


@dataclass(frozen=True)
class Content:
    """A model in memory; `type` is the model file type, such as `MJCF` or `WBPZ`."""

    data: bytes
    type: str


Script = Union[LocalPath, bytes]
Model = Union[LocalPath, Content, StoredFile, HostFile]
File = Union[LocalPath, bytes, StoredFile]
Files = Union[Mapping[str, File], Iterable[LocalPath]]
Variables = Mapping[str, object]


@dataclass(frozen=True)
class Job:
    """Description of a job. A script, model or file given as text or path is a file of this machine; bytes are a content."""

    script: Union[Script, Sequence[Script], None] = None
    model: Optional[Model] = None
    files: Optional[Files] = None
    variables: Optional[Variables] = None
    name: Optional[str] = None
    version: Optional[str] = None
    labels: Union[str, Sequence[str]] = ()
    priority: Optional[str] = None
    time_limit: Optional[int] = None
    duration: Optional[int] = None
    notify: Optional[str] = None
    note: Optional[str] = None

    def __post_init__(self) -> None:
        if isinstance(self.files, Iterator):
            # It gives its files once, and each point of a sweep needs them.
            object.__setattr__(self, "files", list(self.files))

    def at(self, point: Variables, number: int) -> Job:
        """The job of one point of a sweep: its variables are added, and its number to the name."""
        name = None if self.name is None else f"{self.name} {number}"
        return replace(self, variables={**(self.variables or {}), **point}, name=name)


def classifiers_of(job: Job) -> List[Dict[str, str]]:
    labels = [job.labels] if isinstance(job.labels, str) else list(job.labels)
    pairs = [("VERSION", job.version), ("LABLES", ",".join(labels) or None), ("PRIORITY", job.priority)]
    return [{"type": kind, "value": value} for kind, value in pairs if value is not None]


def request_of(
    job: Job, store: Callable[[Path], Optional[str]], more: Optional[Mapping[str, Any]] = None
) -> Tuple[str, Body]:
    """Kind of the task (`simulate-work` or `execute-batch-job`), and the body of the request that creates it, or with the
    fields `more` a study.

    `store` puts a file into the input storage and returns its name there, or `None` while the storage is off; the file then
    travels in the request.
    """
    document: Dict[str, Any] = {"classifiers": classifiers_of(job), **(more or {})}
    if job.name is not None:
        document["name"] = job.name
    if job.note is not None:
        document["note"] = job.note
    if job.time_limit is not None:
        document["timeLimit"] = job.time_limit
    if job.notify is not None:
        document["notify"] = job.notify
    if job.duration is not None:
        if job.script is not None or job.model is not None or job.files or job.variables:
            raise UsageError("a task of a duration has no script, model, files or variables")
        document["duration"] = job.duration
        document.update(_type_of(job, "SIMULATE_WORK"))
        return "simulate-work", _plain_body(document)
    document.update(_type_of(job, "EXECUTE_BATCH_JOB"))
    contents = _Contents()
    document["inputScripts"] = [
        {"content": contents.of(script), **_filename_of(script)} for script in _scripts_of(job)
    ]
    document.update(_model_of(job.model, contents, store))
    files = [_file_of(name, file, contents, store) for name, file in _named(job.files)]
    if files:
        document["additionalFiles"] = files
    if job.variables:
        document["variablesToInject"] = [
            {"key": key, "value": text_of(key, value)} for key, value in job.variables.items()
        ]
    return "execute-batch-job", contents.body(document)


def _type_of(job: Job, name: str) -> Dict[str, str]:
    """Jobs with `notify` are created under /api/x, where one path takes both types."""
    return {} if job.notify is None else {"type": name}


def text_of(key: str, value: object) -> str:
    """The value of a variable as text: numbers as JavaScript and Python read them, `true` and `false`, texts as they are."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, numbers.Integral):
        return str(int(value))
    if isinstance(value, numbers.Real):
        number = float(value)
        if not math.isfinite(number):
            raise UsageError(f"the variable {key} must be a finite number or a text, not {number}")
        return repr(number)
    raise UsageError(f"the variable {key} must be a text, a number or a boolean, not {type(value).__name__}")


def local_file(path: LocalPath) -> Path:
    """The path of a file that can be read; refuses what is none before anything is sent."""
    found = Path(path)
    try:
        with found.open("rb"):
            return found
    except OSError as error:
        raise UsageError(f"{found} cannot be read: {error.strerror}") from error


def _scripts_of(job: Job) -> List[Script]:
    if job.script is None:
        raise UsageError("a job needs a script, or a task of simulated work a duration")
    if isinstance(job.script, (str, bytes, os.PathLike)):
        return [job.script]
    return list(job.script)


def _model_of(
    model: Optional[Model], contents: _Contents, store: Callable[[Path], Optional[str]]
) -> Dict[str, Any]:
    if model is None:
        return {}
    if isinstance(model, HostFile):
        copy = "true" if model.copy else "false"
        parameters = {"pathToFile": model.path, "copyFileToWorkingDirectory": copy}
        return _reference("LOCAL_FILESYSTEM", parameters)
    if isinstance(model, StoredFile):
        return _reference("INPUT_STORAGE", {"name": model.name})
    if isinstance(model, Content):
        return {"inputModel": {"type": model.type, "content": contents.of(model.data)}}
    if isinstance(model, bytes):
        raise UsageError("a model in memory needs its type: Content(data, type='MJCF')")
    path = local_file(model)
    name = store(path)
    if name is not None:
        reference = _reference("INPUT_STORAGE", {"name": name})
        reference["inputModelReference"].update(_filename_of(path))
        return reference
    kind = path.suffix[1:]
    if not re.fullmatch(r"[A-Za-z0-9]{1,16}", kind):
        raise UsageError(
            f"the type of the model {path} is not known; give Content(data, type=…), or a file with an extension"
        )
    return {"inputModel": {"type": kind, "content": contents.of(path), **_filename_of(path)}}


def _filename_of(source: Union[Script, Path]) -> Dict[str, str]:
    """The name of a file, which its task shows, unless the hub would refuse it: it is not worth a failure."""
    name = "" if isinstance(source, bytes) else Path(source).name
    try:
        is_short = len(name.encode()) <= MAX_NAME_BYTES
    except UnicodeEncodeError:
        return {}
    is_taken = is_short and not re.search(r"[\x00-\x1f\x7f\\]|^[A-Za-z]:|^\.workbench-|^(\.\.?)?$", name)
    return {"filename": name} if is_taken else {}


def _file_of(
    name: str, file: File, contents: _Contents, store: Callable[[Path], Optional[str]]
) -> Dict[str, str]:
    if isinstance(file, StoredFile):
        return {"filename": name, "storageName": file.name}
    if isinstance(file, bytes):
        return {"filename": name, "content": contents.of(file)}
    path = local_file(file)
    stored = store(path) if path.stat().st_size > INLINE_BYTES else None
    if stored is not None:
        return {"filename": name, "storageName": stored}
    return {"filename": name, "content": contents.of(path)}


def _named(files: Optional[Files]) -> List[Tuple[str, File]]:
    if files is None:
        return []
    if isinstance(files, Mapping):
        return list(files.items())
    if isinstance(files, (str, bytes, os.PathLike)):
        raise UsageError("files must be a list of paths, or a mapping from names to paths or contents")
    return [(Path(path).name, path) for path in files]


def _reference(kind: str, parameters: Mapping[str, str]) -> Dict[str, Any]:
    pairs = [{"key": key, "value": value} for key, value in parameters.items()]
    return {"inputModelReference": {"type": kind, "parameters": pairs}}


def _plain_body(document: object) -> Body:
    text = json.dumps(document).encode()
    return Body(len(text), lambda: iter((text,)))


class _Contents:
    """Contents that are encoded while the request is written, so that none is in memory as a whole."""

    def __init__(self) -> None:
        self._mark = secrets.token_hex(16)
        self._sources: List[Tuple[Union[Path, bytes], int]] = []

    def of(self, source: Union[Script, Path]) -> str:
        """A placeholder, which the body replaces by the content."""
        if isinstance(source, bytes):
            self._sources.append((source, len(source)))
        else:
            path = local_file(source)
            self._sources.append((path, path.stat().st_size))
        return self._mark

    def body(self, document: object) -> Body:
        pieces = [piece.encode() for piece in json.dumps(document).split(self._mark)]
        size = sum(map(len, pieces)) + sum((size + 2) // 3 * 4 for _, size in self._sources)

        def chunks() -> Iterator[bytes]:
            for number, piece in enumerate(pieces):
                yield piece
                if number < len(self._sources):
                    yield from _encoded(*self._sources[number])

        return Body(size, chunks)


def _encoded(source: Union[Path, bytes], size: int) -> Iterator[bytes]:
    if isinstance(source, bytes):
        yield base64.b64encode(source)
        return
    left = size
    with source.open("rb") as file:
        while left > 0:
            chunk = file.read(min(ENCODED_BYTES, left))
            if len(chunk) < min(ENCODED_BYTES, left):
                raise UsageError(f"{source} became shorter while it was sent")
            left -= len(chunk)
            yield base64.b64encode(chunk)
