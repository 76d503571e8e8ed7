"""Jobs in one call: creation, wait and outputs, one by one and in sweeps."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, Callable, Iterable, Iterator, Mapping, Optional, Sequence, TypeVar, Union, overload

from ._creation import Creation, Task
from ._errors import NotFound, UsageError
from ._following import Following
from ._job import Files, Job, LocalPath, Model, Script, Variables, local_file
from ._progress import Choice, Reporter
from ._reasons import Reasons
from ._result import Result
from ._sweep import Pool

LEAST_IN_FLIGHT = 4
MOST_IN_FLIGHT = 64

Item = TypeVar("Item")
Value = TypeVar("Value")


class TaskMethods(Creation, Following):
    """The part of `Hub` that runs jobs."""

    def submit(
        self,
        *,
        script: Union[Script, Sequence[Script], None] = None,
        model: Optional[Model] = None,
        files: Optional[Files] = None,
        variables: Optional[Variables] = None,
        name: Optional[str] = None,
        note: Optional[str] = None,
        version: Optional[str] = None,
        labels: Union[str, Sequence[str]] = (),
        priority: Optional[str] = None,
        time_limit: Optional[int] = None,
        duration: Optional[int] = None,
        notify: Optional[str] = None,
        progress: Choice = None,
    ) -> Task:
        """Creates a task and returns at once.

        Scripts, model and files are paths of this machine, or bytes; a model is handed over to the input storage, and sent only
        when it is not there. `duration` in place of `script` blocks an instance for that many seconds. `time_limit` is in
        seconds too. `note` is a text about the task, for people. `notify` is an address that gets a webhook when the task
        ends, if the hub allows it. Raises `Locked` while the hub prepares its shutdown, and `LostAnswer` when it is unknown
        whether a task was created.
        """
        job = Job(
            script, model, files, variables, name, version, labels, priority, time_limit, duration, notify, note
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
        note: Optional[str] = None,
        version: Optional[str] = None,
        labels: Union[str, Sequence[str]] = (),
        priority: Optional[str] = None,
        time_limit: Optional[int] = None,
        duration: Optional[int] = None,
        notify: Optional[str] = None,
        out: Optional[LocalPath] = None,
        overwrite: bool = False,
        check: bool = True,
        timeout: Optional[float] = None,
        cancel_on_interrupt: bool = False,
        progress: Choice = None,
    ) -> Result:
        """`submit` and `wait`. An interrupt leaves the task alone, unless `cancel_on_interrupt` is set."""
        job = Job(
            script, model, files, variables, name, version, labels, priority, time_limit, duration, notify, note
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
        note: Optional[str] = None,
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
        note: Optional[str] = None,
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
        job = Job(script, model, files, variables, name, version, labels, priority, time_limit, note=note)
        if isinstance(job.model, (str, os.PathLike)):
            self.storage.name_for(local_file(job.model), progress)
        folder = None if out is None else Path(out)
        flights = in_flight or self._default_in_flight(job)

        report = Reporter(self._progress if progress is None else progress)
        reasons = Reasons(report, is_sweep=True)

        def one(number: int, point: Variables) -> Result:
            into = None if folder is None else folder / f"{number:04d}"
            result = self._run_point(job.at(point, number), into, overwrite, cancel_on_interrupt, reasons)
            result.point, result.number = point, number
            return result.check() if check else result

        sweep: Pool[Variables, Result] = Pool(one, work, flights, report, lambda result: not result.ok)
        return sweep.ordered() if ordered else sweep.completed()

    def _run_point(
        self,
        job: Job,
        folder: Optional[Path],
        overwrite: bool,
        cancel_on_interrupt: bool,
        reasons: Reasons,
    ) -> Result:
        task = self._create(job, False)
        try:
            return self._wait(task, None, folder, overwrite, Reporter(False), reasons)
        except BaseException:
            if cancel_on_interrupt:
                self._cancel_quietly(task)
            raise

    def _default_in_flight(self, job: Job) -> int:
        try:
            found: Any = self.explain(version=job.version, labels=job.labels, priority=job.priority)
        except NotFound:
            return LEAST_IN_FLIGHT * 4
        fitting = int(found["instances"]["satisfyingAll"])
        return max(LEAST_IN_FLIGHT, min(MOST_IN_FLIGHT, 2 * fitting))
