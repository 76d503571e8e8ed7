"""Reasons why tasks wait, by `logging`: for those who see no bar, as in a pipeline."""

from __future__ import annotations

import logging
import threading
from typing import TYPE_CHECKING, Optional, Set, Tuple

from ._progress import Reporter

if TYPE_CHECKING:
    from . import schemas

LOGGER = logging.getLogger("workbench_hub")
# Verdicts of the hub on tasks that do not start unless something changes.
STUCK = ("NEVER", "NONE_UP", "PAUSED")


class Reasons:
    """States of the tasks of one call, each told once. Threads share it.

    What keeps a task from starting is a warning, which Python prints unless a program says otherwise. A wait for instances that
    work and a start have the level `INFO`. Of a sweep with a bar, which shows no reasons, warnings are printed above the bar.
    """

    def __init__(self, report: Reporter, is_sweep: bool = False) -> None:
        self._report = report
        self._is_sweep = is_sweep
        self._told: Set[Tuple[str, ...]] = set()
        self._lock = threading.Lock()

    def tell(self, task: schemas.TaskDetails) -> None:
        reason = task.get("waitReason")
        verdict = reason["verdict"] if reason else None
        is_stuck = verdict in STUCK
        # The tasks of a sweep wait for the same reason.
        owner = "" if self._is_sweep and is_stuck else task["id"]
        told = (owner, task["status"], verdict or "", task.get("message", "") if is_stuck else "")
        with self._lock:
            if told in self._told:
                return
            self._told.add(told)
        text = _text_of(task)
        if text is None:
            return
        if self._report.has_bar:
            if is_stuck:
                self._report.say(text)
        else:
            LOGGER.log(logging.WARNING if is_stuck else logging.INFO, "%s", text)


def _text_of(task: schemas.TaskDetails) -> Optional[str]:
    if task["status"] == "WAITING":
        return f"task {task['id']}: {task.get('message', 'waits')}"
    if task["status"] == "RUNNING":
        instance = task.get("instance")
        return f"task {task['id']} runs" + (f" on {instance['id']}" if instance else "")
    return None
