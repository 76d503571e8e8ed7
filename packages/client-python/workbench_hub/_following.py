"""Tasks that exist: waits, outputs, logs, lists, explanations, and their ends."""

from __future__ import annotations

import math
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Dict, Iterator, List, Literal, Optional, Sequence, Union, overload

from ._calls import Calls, Query, quoted
from ._creation import TASKS, AnyTask, Task
from ._errors import Conflict, HubError, NotFound, UsageError, WaitTimeout
from ._job import Job, LocalPath, classifiers_of
from ._log import LogPart
from ._log import follow as follow_log
from ._progress import Choice, Progress, Reporter
from ._reasons import Reasons
from ._result import Result, read_result, receive_result
from ._scope import apart
from ._storage import Storage

if TYPE_CHECKING:
    from . import schemas

# Below a minute, after which many proxies end a silent connection.
POLL_S = 50
# The reason why a task waits is read after this time, and again where a bar shows it.
SHOWN_POLL_S = 5


class Following:
    """The part of `Hub` that deals with tasks that exist."""

    storage: Storage
    _calls: Calls
    _progress: Choice

    def wait(
        self,
        task: AnyTask,
        *,
        timeout: Optional[float] = None,
        out: Optional[LocalPath] = None,
        overwrite: bool = False,
        check: bool = True,
        progress: Choice = None,
    ) -> Result:
        """Waits for the end of a task, for at most `timeout` seconds, and puts its outputs into the folder `out`. A `timeout` of
        0 looks once.

        Raises `TaskFailed` or `TaskCanceled` unless `check` is false, and `WaitTimeout`; the task goes on after that. Outputs
        and files that scripts left in the output storage appear in the folder when all of them are complete, as with `outputs`.
        """
        known = self._known(task)
        report = Reporter(self._progress if progress is None else progress)
        folder = None if out is None else Path(out)
        try:
            result = self._wait(known, timeout, folder, overwrite, report, Reasons(report))
        except KeyboardInterrupt:
            report.say(f"The task {known.id} goes on; wait({known.id!r}) waits for it again.")
            raise
        finally:
            report.end()
        return result.check() if check else result

    def outputs(
        self, task: AnyTask, out: LocalPath, *, overwrite: bool = False, stored: bool = True
    ) -> Dict[str, Path]:
        """Puts the outputs of an ended task into a folder, also of one that failed, and returns their paths by name.

        `stored` includes files that scripts left in the output storage, under their names without the id of the task, or with
        it, `<id>-<name>`, where an output has that name. Raises `OutputExists` and `UnsafeName`; nothing is written then.
        """
        known = self._known(task)
        get_stored = self._get_stored if stored else None
        result = receive_result(
            self._calls, known.kind, known.id, Path(out), overwrite=overwrite, get_stored=get_stored
        )
        if result is None:
            raise UsageError(f"the task {known.id} has not ended")
        return result.files

    @overload
    def log(self, task: AnyTask) -> str: ...

    @overload
    def log(self, task: AnyTask, *, follow: Literal[True]) -> Iterator[str]: ...

    @overload
    def log(self, task: AnyTask, *, follow: bool) -> Union[str, Iterator[str]]: ...

    def log(self, task: AnyTask, *, follow: bool = False) -> Union[str, Iterator[str]]:
        """What the scripts of a task printed; with `follow`, piece by piece until the task ends."""
        task_id = _id_of(task)
        path = f"{TASKS}/{quoted(task_id)}/log"
        if not follow:
            return self._calls.text("GET", path)

        def state() -> Dict[str, Any]:
            return dict(self.task(task_id))

        return follow_log(state, lambda position: LogPart(*self._calls.text_from(path, position)))

    def cancel(self, task: AnyTask, *, force: bool = False) -> None:
        """Cancels a waiting task, with `force` a running one too. Raises `Conflict` when it runs or has ended."""
        task_id = _id_of(task)
        tries = 0

        def is_repeatable() -> bool:
            nonlocal tries
            tries += 1
            return True

        path = f"{TASKS}/{quoted(task_id)}/cancel"
        try:
            self._calls.done("DELETE", path, query={"force": force}, is_repeatable=is_repeatable)
        except Conflict:
            # An earlier try, whose answer was lost, may have canceled it.
            if tries == 0 or self.task(task_id)["status"] != "CANCELED":
                raise

    def delete(self, task: AnyTask) -> None:
        """Deletes an ended task with its results. Raises `Conflict` when it has not ended."""
        self._calls.done("DELETE", f"{TASKS}/{quoted(_id_of(task))}/delete")

    def task(self, task: AnyTask) -> schemas.Task:
        """A task as the hub shows it."""
        found: schemas.Task = self._calls.json("GET", f"{TASKS}/{quoted(_id_of(task))}")
        return found

    def tasks(
        self,
        *,
        status: Union[str, Sequence[str]] = (),
        name: Optional[str] = None,
        creator: Optional[str] = None,
        note: Optional[str] = None,
        priority: Optional[str] = None,
        type: Optional[str] = None,
        id: Optional[str] = None,
        limit: Optional[int] = None,
    ) -> List[schemas.Task]:
        """Tasks, newest first, at most `limit` of them. Texts may hold the wildcards `*` and `?`."""
        query: Query = {
            "status": [status] if isinstance(status, str) else list(status),
            **{"name": name, "creator": creator, "note": note, "priority": priority, "type": type, "id": id},
        }
        found: List[Any] = self._calls.pages(f"{TASKS}/list", query, limit)
        return found

    def manifest(self, task: AnyTask) -> schemas.SignedManifest:
        """What an ended task got, where it ran and what came of it, signed by the hub; `wb verify` verifies it as JSON.

        Raises `NotFound` before the end of the task.
        """
        found: schemas.SignedManifest = self._calls.json("GET", f"/api/x/tasks/{quoted(_id_of(task))}/manifest")
        return found

    def explain(
        self,
        task: Optional[AnyTask] = None,
        *,
        version: Optional[str] = None,
        labels: Union[str, Sequence[str]] = (),
        priority: Optional[str] = None,
    ) -> Union[schemas.TaskExplanation, schemas.DryRunExplanation]:
        """Why a task waits and when it is expected to start; without a task, of one with these classifiers."""
        found: Union[schemas.TaskExplanation, schemas.DryRunExplanation]
        if task is not None:
            found = self._calls.json("GET", f"/api/x/tasks/{quoted(_id_of(task))}/explain")
            return found
        classifiers = classifiers_of(Job(version=version, labels=labels, priority=priority))
        # Nothing is created: the request may be repeated.
        found = self._calls.json(
            "POST", "/api/x/explain", document={"classifiers": classifiers}, is_repeatable=lambda: True
        )
        return found

    def _wait(
        self,
        task: Task,
        timeout: Optional[float],
        folder: Optional[Path],
        overwrite: bool,
        report: Reporter,
        reasons: Reasons,
    ) -> Result:
        began = time.monotonic()
        is_first = True
        while True:
            elapsed = time.monotonic() - began
            left = None if timeout is None else timeout - elapsed
            if left is not None and left < 0 and not is_first:
                raise WaitTimeout(f"the task {task.id} has not ended within {timeout} s; it goes on")
            if report.is_heard:
                state = self.task(task)
                detail = state.get("message") or state["status"].lower()
                report(Progress(f"task {task.id}", elapsed, None, "seconds", detail))
            elif not is_first:
                self._tell_state(task, reasons)
            poll_s = SHOWN_POLL_S if report.is_heard or is_first else POLL_S
            is_first = False
            # A whole number: what is left of the last second is waited as one.
            poll_s = poll_s if left is None else min(poll_s, max(0, math.ceil(left)))
            result = self._look(task, poll_s, folder, overwrite)
            if result is not None:
                return result

    def _tell_state(self, task: Task, reasons: Reasons) -> None:
        try:
            reasons.tell(self._calls.json("GET", f"/api/x/tasks/{quoted(task.id)}"))
        except NotFound:
            # The task was deleted, which the wait finds, or the hub has no such path.
            pass

    def _look(self, task: Task, poll_s: int, folder: Optional[Path], overwrite: bool) -> Optional[Result]:
        if folder is None:
            return read_result(self._calls, task.kind, task.id, poll_s=poll_s)
        return receive_result(
            self._calls,
            task.kind,
            task.id,
            folder,
            poll_s=poll_s,
            overwrite=overwrite,
            get_stored=self._get_stored,
        )

    def _get_stored(self, name: str, path: Path) -> None:
        self.storage.get(name, path, progress=False)

    def _known(self, task: AnyTask) -> Task:
        if isinstance(task, Task):
            return task
        kind = "simulate-work" if self.task(task)["type"] == "SIMULATE_WORK" else "execute-batch-job"
        return Task(task, kind)

    def _cancel_quietly(self, task: Task) -> None:
        try:
            with apart():
                self.cancel(task, force=True)
        except (HubError, ConnectionError):
            # It has ended, or the hub is away.
            pass


def _id_of(task: AnyTask) -> str:
    return task if isinstance(task, str) else task.id
