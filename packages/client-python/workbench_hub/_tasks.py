"""Tasks: creating, following and ending them, one by one and in sweeps."""

from __future__ import annotations

import os
import secrets
import time
from dataclasses import dataclass
from pathlib import Path
from typing import (
    TYPE_CHECKING,
    Any,
    Callable,
    Dict,
    Iterable,
    Iterator,
    List,
    Literal,
    Mapping,
    Optional,
    Sequence,
    TypeVar,
    Union,
    overload,
)

from ._calls import Calls, Query, quoted
from ._errors import Conflict, HubError, HubUnreachable, InvalidInput, Locked, LostAnswer, NotFound, UsageError, WaitTimeout
from ._job import Files, Job, LocalPath, Model, Script, Variables, classifiers_of, local_file, request_of
from ._log import follow as follow_log
from ._outputs import safe_parts
from ._progress import Choice, Progress, Reporter
from ._result import Result, read_result
from ._storage import Storage
from ._sweep import Pool
from ._transport import apart, current_scope

if TYPE_CHECKING:
    from . import schemas

TASKS = "/api/2.0/workbench/task"
KEY_HEADER = "Idempotency-Key"
# Below a minute, after which many proxies end a silent connection.
POLL_S = 50
# With progress on a terminal, the reason why a task waits is read again after this time.
SHOWN_POLL_S = 5
LEAST_IN_FLIGHT = 4
MOST_IN_FLIGHT = 64

Item = TypeVar("Item")
Value = TypeVar("Value")


@dataclass(frozen=True)
class Task:
    """A task that was created; `kind` is `execute-batch-job` or `simulate-work`."""

    id: str
    kind: str = "execute-batch-job"


AnyTask = Union[Task, str]


class TaskMethods:
    """The part of `Hub` that deals with tasks."""

    storage: Storage
    _calls: Calls
    _progress: Choice

    def submit(
        self,
        *,
        script: Union[Script, Sequence[Script], None] = None,
        model: Optional[Model] = None,
        files: Optional[Files] = None,
        variables: Optional[Variables] = None,
        name: Optional[str] = None,
        version: Optional[str] = None,
        labels: Union[str, Sequence[str]] = (),
        priority: Optional[str] = None,
        time_limit: Optional[int] = None,
        duration: Optional[int] = None,
        progress: Choice = None,
    ) -> Task:
        """Creates a task and returns at once.

        Scripts, model and files are paths of this machine, or bytes; a model is handed over to the input storage, and sent only
        when it is not there. `duration` in place of `script` blocks an instance for that many seconds. `time_limit` is in
        seconds too. Raises `Locked` while the hub prepares its shutdown, and `LostAnswer` when it is unknown whether a task was
        created.
        """
        job = Job(
            script, model, files, variables, name, version, labels, priority, time_limit, duration
        )
        return self._create(job, progress)

    def run(
        self,
        *,
        script: Union[Script, Sequence[Script], None] = None,
        model: Optional[Model] = None,
        files: Optional[Files] = None,
        variables: Optional[Variables] = None,
        name: Optional[str] = None,
        version: Optional[str] = None,
        labels: Union[str, Sequence[str]] = (),
        priority: Optional[str] = None,
        time_limit: Optional[int] = None,
        duration: Optional[int] = None,
        out: Optional[LocalPath] = None,
        overwrite: bool = False,
        check: bool = True,
        timeout: Optional[float] = None,
        cancel_on_interrupt: bool = False,
        progress: Choice = None,
    ) -> Result:
        """`submit` and `wait`. An interrupt leaves the task alone, unless `cancel_on_interrupt` is set."""
        job = Job(
            script, model, files, variables, name, version, labels, priority, time_limit, duration
        )
        task = self._create(job, progress)
        try:
            return self.wait(
                task, timeout=timeout, out=out, overwrite=overwrite, check=check, progress=progress
            )
        except KeyboardInterrupt:
            if cancel_on_interrupt:
                self._cancel_quietly(task)
            raise

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
        """Waits for the end of a task, for at most `timeout` seconds, and puts its outputs into the folder `out`.

        Raises `TaskFailed` or `TaskCanceled` unless `check` is false, and `WaitTimeout`; the task goes on after that. Outputs
        appear in the folder when all of them are complete.
        """
        known = self._known(task)
        report = Reporter(self._progress if progress is None else progress)
        try:
            result = self._wait(known, timeout, None if out is None else Path(out), overwrite, report)
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

        `stored` includes files that scripts left in the output storage. Raises `OutputExists` and `UnsafeName`; nothing is
        written then.
        """
        known = self._known(task)
        result = read_result(self._calls, known.kind, known.id, folder=Path(out), overwrite=overwrite)
        if result is None:
            raise UsageError(f"the task {known.id} has not ended")
        if stored:
            self._get_stored(result, Path(out), overwrite)
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

        return follow_log(state, lambda: self._calls.text("GET", path))

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
        priority: Optional[str] = None,
        type: Optional[str] = None,
        id: Optional[str] = None,
        limit: Optional[int] = None,
    ) -> List[schemas.Task]:
        """Tasks, newest first, at most `limit` of them. Texts may hold the wildcards `*` and `?`."""
        query: Query = {
            "status": [status] if isinstance(status, str) else list(status),
            **{"name": name, "creator": creator, "priority": priority, "type": type, "id": id},
        }
        found: List[Any] = []
        if limit is not None and limit <= 2000:
            found = self._calls.json("GET", f"{TASKS}/list", query={**query, "size": limit})["content"]
        else:
            found = self._calls.pages(f"{TASKS}/list", query)
        return found[:limit]

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

    @overload
    def map(
        self,
        work: Callable[[Item], Value],
        items: Iterable[Item],
        *,
        in_flight: Optional[int] = None,
        ordered: bool = True,
        progress: Choice = None,
    ) -> Iterator[Value]: ...

    @overload
    def map(
        self,
        work: Iterable[Mapping[str, object]],
        items: None = None,
        *,
        script: Union[Script, Sequence[Script], None] = None,
        model: Optional[Model] = None,
        files: Optional[Files] = None,
        variables: Optional[Variables] = None,
        name: Optional[str] = None,
        version: Optional[str] = None,
        labels: Union[str, Sequence[str]] = (),
        priority: Optional[str] = None,
        time_limit: Optional[int] = None,
        out: Optional[LocalPath] = None,
        overwrite: bool = False,
        check: bool = False,
        in_flight: Optional[int] = None,
        ordered: bool = True,
        cancel_on_interrupt: bool = True,
        progress: Choice = None,
    ) -> Iterator[Result]: ...

    def map(
        self,
        work: Any,
        items: Any = None,
        *,
        script: Union[Script, Sequence[Script], None] = None,
        model: Optional[Model] = None,
        files: Optional[Files] = None,
        variables: Optional[Variables] = None,
        name: Optional[str] = None,
        version: Optional[str] = None,
        labels: Union[str, Sequence[str]] = (),
        priority: Optional[str] = None,
        time_limit: Optional[int] = None,
        out: Optional[LocalPath] = None,
        overwrite: bool = False,
        check: bool = False,
        in_flight: Optional[int] = None,
        ordered: bool = True,
        cancel_on_interrupt: bool = True,
        progress: Choice = None,
    ) -> Iterator[Any]:
        """Runs one task for each point, or calls a function for each item, in threads.

        `map(points, script=…)`: a point is a mapping of variables; it gives a `Result` with its `point` and `number`, also for
        a task that failed unless `check` is set. Tasks are created late, at most `in_flight` at a time; by default twice as many
        as instances fit, 4 to 64. Outputs go to `out/<number>`. When the iteration is left early, unfinished tasks are canceled,
        unless `cancel_on_interrupt` is false.

        `map(function, items)`: what `multiprocessing.Pool.map` does, for functions that call this hub; optimizers take it as
        `workers`.
        """
        if callable(work):
            pool: Pool[Any, Any] = Pool(
                lambda _, item: work(item),
                items,
                in_flight or LEAST_IN_FLIGHT * 2,
                Reporter(self._progress if progress is None else progress),
                lambda _: False,
            )
            return pool.ordered() if ordered else pool.completed()
        if items is not None:
            raise UsageError("map takes points and a job, or a function and its items")
        job = Job(script, model, files, variables, name, version, labels, priority, time_limit)
        if isinstance(job.model, (str, os.PathLike)):
            self.storage.name_for(local_file(job.model), progress)
        folder = None if out is None else Path(out)
        flights = in_flight or self._default_in_flight(job)

        def one(number: int, point: Variables) -> Result:
            into = None if folder is None else folder / f"{number:04d}"
            result = self._run_point(job.at(point, number), into, overwrite, cancel_on_interrupt)
            result.point, result.number = point, number
            return result.check() if check else result

        report = Reporter(self._progress if progress is None else progress)
        sweep: Pool[Variables, Result] = Pool(one, work, flights, report, lambda result: not result.ok)
        return sweep.ordered() if ordered else sweep.completed()

    def _run_point(
        self, job: Job, folder: Optional[Path], overwrite: bool, cancel_on_interrupt: bool
    ) -> Result:
        task = self._create(job, False)
        try:
            return self._wait(task, None, folder, overwrite, Reporter(False))
        except BaseException:
            if cancel_on_interrupt:
                self._cancel_quietly(task)
            raise

    def _create(self, job: Job, progress: Choice) -> Task:
        stored: List[str] = []

        def store(path: Path) -> Optional[str]:
            name = self.storage.name_for(path, progress)
            if name is not None:
                stored.append(name)
            return name

        kind, body = request_of(job, store)
        try:
            return self._send(kind, body)
        except (InvalidInput, Locked):
            # A file may have been removed from the input storage since it was handed over, or the storage switched off.
            if all(self.storage.exists(name) for name in stored):
                raise
            self.storage.forget()
            kind, body = request_of(job, store)
            return self._send(kind, body)

    def _send(self, kind: str, body: Any) -> Task:
        key = secrets.token_hex(16)
        current_scope().sleep(0)
        try:
            # A creation that was begun is completed, so that its task is known and can be canceled.
            with apart():
                created = self._calls.json(
                    "POST",
                    f"{TASKS}/{kind}/create",
                    body=body,
                    headers={"Content-Type": "application/json", KEY_HEADER: key},
                    is_repeatable=self._knows_keys,
                )
        except LostAnswer as error:
            raise LostAnswer(f"{error}: look for the task in tasks()", key) from error
        return Task(str(created["id"]), kind)

    def _knows_keys(self) -> bool:
        """Whether the hub recognizes a repeated creation by its idempotency key."""
        try:
            document = self._calls.json("GET", "/openapi.json")
        except HubUnreachable:
            return False
        operation = document["paths"].get(f"{TASKS}/execute-batch-job/create", {}).get("post", {})
        named = [
            str(parameter.get("name", "")).lower()
            for parameter in operation.get("parameters", [])
            if parameter.get("in") == "header"
        ]
        return KEY_HEADER.lower() in named

    def _wait(
        self,
        task: Task,
        timeout: Optional[float],
        folder: Optional[Path],
        overwrite: bool,
        report: Reporter,
    ) -> Result:
        began = time.monotonic()
        while True:
            elapsed = time.monotonic() - began
            left = None if timeout is None else timeout - elapsed
            if left is not None and left < 0:
                raise WaitTimeout(f"the task {task.id} has not ended within {timeout} s; it goes on")
            if report.is_heard:
                state = self.task(task)
                detail = state.get("message") or state["status"].lower()
                report(Progress(f"task {task.id}", elapsed, None, "seconds", detail))
            poll_s = SHOWN_POLL_S if report.is_heard else POLL_S
            # A whole number: what is left of the last second is waited as one.
            poll_s = poll_s if left is None else min(poll_s, int(left) + 1)
            result = read_result(
                self._calls, task.kind, task.id, poll_s=poll_s, folder=folder, overwrite=overwrite
            )
            if result is not None:
                if folder is not None:
                    self._get_stored(result, folder, overwrite)
                return result

    def _get_stored(self, result: Result, folder: Path, overwrite: bool) -> None:
        for stored in result.stored:
            name = stored[len(result.id) + 1 :]
            path = folder.joinpath(*safe_parts(None, name))
            folder.mkdir(parents=True, exist_ok=True)
            self.storage.get(stored, path, overwrite=overwrite, progress=False)
            result.files[name] = path

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

    def _default_in_flight(self, job: Job) -> int:
        try:
            found: Any = self.explain(version=job.version, labels=job.labels, priority=job.priority)
        except NotFound:
            return LEAST_IN_FLIGHT * 4
        fitting = int(found["instances"]["satisfyingAll"])
        return max(LEAST_IN_FLIGHT, min(MOST_IN_FLIGHT, 2 * fitting))


def _id_of(task: AnyTask) -> str:
    return task if isinstance(task, str) else task.id
