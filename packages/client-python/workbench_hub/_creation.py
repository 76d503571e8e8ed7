"""Creation of tasks: once, also when an answer is lost."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Callable, List, Mapping, Optional, TypeVar, Union

from ._calls import Calls
from ._errors import InvalidInput, Locked, LostAnswer
from ._job import Job, request_of
from ._keys import KEY_HEADER, new_key, takes_keys
from ._progress import Choice
from ._response import Body
from ._scope import apart, current_scope
from ._storage import Storage

TASKS = "/api/2.0/workbench/task"


@dataclass(frozen=True)
class Task:
    """A task that was created; `kind` is `execute-batch-job` or `simulate-work`."""

    id: str
    kind: str = "execute-batch-job"


AnyTask = Union[Task, str]
Created = TypeVar("Created")


def path_of(kind: str, job: Job) -> str:
    """Where a job is created: on a path that every hub has, unless it names an address for its end."""
    return f"{TASKS}/{kind}/create" if job.notify is None else "/api/x/tasks"


class Creation:
    """The part of `Hub` that creates tasks."""

    storage: Storage
    _calls: Calls

    def _create(self, job: Job, progress: Choice) -> Task:
        return self._with_files(job, progress, lambda kind, body: self._send(kind, body, path_of(kind, job)))

    def _with_files(
        self,
        job: Job,
        progress: Choice,
        send: Callable[[str, Body], Created],
        more: Optional[Mapping[str, Any]] = None,
    ) -> Created:
        """Puts the files of a job into the input storage, and sends its request, with the fields `more` as well."""
        stored: List[str] = []

        def store(path: Path) -> Optional[str]:
            name = self.storage.name_for(path, progress)
            if name is not None:
                stored.append(name)
            return name

        try:
            return send(*request_of(job, store, more))
        except (InvalidInput, Locked):
            # A file may have been removed from the input storage since it was handed over, or the storage switched off.
            if self.storage.has(stored):
                raise
            self.storage.forget()
            return send(*request_of(job, store, more))

    def _send(self, kind: str, body: Any, path: str) -> Task:
        key = new_key()
        current_scope().sleep(0)
        try:
            # A creation that was begun is completed, so that its task is known and can be canceled.
            with apart():
                created = self._calls.json(
                    "POST",
                    path,
                    body=body,
                    headers={"Content-Type": "application/json", KEY_HEADER: key},
                    is_repeatable=lambda: takes_keys(self._calls, f"{TASKS}/execute-batch-job/create"),
                )
        except LostAnswer as error:
            raise LostAnswer(f"{error}: look for the task in tasks()", key) from error
        return Task(str(created["id"]), kind)
