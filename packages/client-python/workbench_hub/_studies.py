"""Studies: their creation, and those that exist."""

from __future__ import annotations

from typing import TYPE_CHECKING, Iterator, List, Optional, Sequence, Tuple, Union

from ._calls import quoted
from ._creation import Creation
from ._errors import LostAnswer, NotFound, UsageError
from ._following import Following
from ._job import Files, Job, Model, Script, Variables
from ._keys import KEY_HEADER, new_key, takes_keys
from ._progress import Choice
from ._response import Body
from ._study import STUDIES, Study
from ._study_plan import Conditions, Plan, Points, StopRules, Values, Vary, study_fields

if TYPE_CHECKING:
    from . import schemas

INVALIDATIONS = "/api/x/invalidations"
STUDIES_OF_A_REQUEST = 100


class StudyMethods(Creation, Following):
    """The part of `Hub` that deals with studies."""

    def study(
        self,
        name: str,
        *,
        script: Union[Script, Sequence[Script], None] = None,
        model: Optional[Model] = None,
        files: Optional[Files] = None,
        variables: Optional[Variables] = None,
        version: Optional[str] = None,
        labels: Union[str, Sequence[str]] = (),
        priority: Optional[str] = None,
        time_limit: Optional[int] = None,
        note: Optional[str] = None,
        vary: Optional[Vary] = None,
        points: Optional[Points] = None,
        plan: Optional[Plan] = None,
        values: Optional[Values] = None,
        success: Optional[Conditions] = None,
        stop_after_failures: Optional[int] = None,
        stop_after: Optional[int] = None,
        stop_when: Optional[Conditions] = None,
        reuse: bool = False,
        bundle: bool = False,
        notify: Optional[str] = None,
        progress: Choice = None,
    ) -> Study:
        """Creates a study, which runs one job at many points, and returns at once.

        The job is that of `submit`; `variables` are the same at all points. `vary` maps the others to their values, or
        to a `Range`; every combination is a point, unless `plan` is `LatinHypercube`, `Sobol`, `OneAtATime` or `Open`.
        `points` lists the points themselves instead. A variable is a NUMBER, or a TEXT when one of its values is a text
        or a boolean; an `integer` `Range` is an INTEGER.

        `values` says by name what is read of each point: `FILE#JSONPATH`, `FILE:COLUMN:TAKE` of a table, or
        `FILE~PATTERN`; the file `log` is the log. A dictionary is sent as it is. `success` maps values to their bounds,
        either of which may be None; a point outside of them, or without the value, is RULE_FAILED. At
        `stop_after_failures` failed points, after `stop_after` seconds, or when a point has values within all the bounds
        of `stop_when`, the study stops by itself. With `reuse`, points take the results of earlier
        tasks with equal inputs: they are REUSED, and the others say why they are not. With `bundle`,
        points that take less than a tenth of a second may run several as one task. `notify` is an address that gets a
        webhook when the study finishes, is stopped, or pauses by itself.

        Raises `InvalidInput`, and `LostAnswer` when it is unknown whether a study was created.
        """
        job = Job(script, model, files, variables, name, version, labels, priority, time_limit, note=note)
        fields = study_fields(
            vary,
            points,
            plan,
            values,
            success,
            stop=StopRules(stop_after_failures, stop_after, stop_when),
            reuse=reuse,
            bundle=bundle,
            notify=notify,
        )
        return self._with_files(job, progress, lambda _, body: self._create_study(body), fields)

    def find_study(self, name_or_id: str) -> Study:
        """The newest study of this user with a name, or any study by its id. Raises `NotFound`."""
        user: Optional[str] = None
        for each in self._studies(name_or_id):
            # Without security, there are no creators.
            creator = each.get("creator")
            if creator is not None and user is None:
                user = str(self._calls.json("GET", "/api/2.0/user")["username"])
            if creator is None or creator == user:
                return self._study(each["id"])
        try:
            return self._study(name_or_id)
        except NotFound as error:
            message = f"you have no study with the name {name_or_id!r}, and there is none with this id"
            raise NotFound(error.status, message, error=error.error, path=error.path) from error

    def studies(self, name: Optional[str] = None, *, limit: Optional[int] = None) -> List[schemas.StudyItem]:
        """Studies of all users with this name, or all, newest first, at most `limit` of them."""
        found: List[schemas.StudyItem] = []
        for each in self._studies(name, limit):
            if limit is not None and len(found) >= limit:
                break
            found.append(each)
        return found

    def invalidate(
        self,
        *,
        task: Optional[str] = None,
        instance: Optional[str] = None,
        workbench: Optional[Tuple[str, str]] = None,
        note: Optional[str] = None,
    ) -> schemas.Invalidation:
        """Lets studies no longer reuse the results that there are now: of a task, of an instance, or of a version and
        revision of the workbench. Raises `UsageError` unless one of them is given, and `Forbidden`."""
        given = [
            {"kind": "TASK", "taskId": task} if task is not None else None,
            {"kind": "INSTANCE", "instanceId": instance} if instance is not None else None,
            {"kind": "REVISION", "version": workbench[0], "revision": workbench[1]} if workbench is not None else None,
        ]
        results = [each for each in given if each is not None]
        if len(results) != 1:
            raise UsageError("one of task, instance and workbench must be given")
        document = {**results[0], **({} if note is None else {"note": note})}
        added: schemas.Invalidation = self._calls.json("POST", INVALIDATIONS, document=document)
        return added

    def invalidations(self) -> List[schemas.Invalidation]:
        """Which results studies do not reuse, newest first."""
        found: schemas.InvalidationList = self._calls.json("GET", INVALIDATIONS)
        return found["invalidations"]

    def revalidate(self, invalidation_id: str) -> None:
        """Takes an invalidation back. Raises `NotFound`."""
        self._calls.done("DELETE", f"{INVALIDATIONS}/{quoted(invalidation_id)}")

    def _studies(self, name: Optional[str], limit: Optional[int] = None) -> Iterator[schemas.StudyItem]:
        after: Optional[str] = None
        most = STUDIES_OF_A_REQUEST if limit is None else max(1, min(STUDIES_OF_A_REQUEST, limit))
        while True:
            query = {"name": name, "limit": most, "after": after}
            page: schemas.StudyList = self._calls.json("GET", STUDIES, query=query)
            yield from page["studies"]
            after = page.get("next")
            if after is None:
                return

    def _study(self, study_id: str) -> Study:
        details: schemas.Study = self._calls.json("GET", f"{STUDIES}/{quoted(study_id)}")
        return Study(self, details)

    def _create_study(self, body: Body) -> Study:
        headers = {"Content-Type": "application/json", KEY_HEADER: new_key()}
        try:
            details: schemas.Study = self._calls.json(
                "POST", STUDIES, body=body, headers=headers, is_repeatable=lambda: takes_keys(self._calls, STUDIES)
            )
        except LostAnswer as error:
            raise LostAnswer(f"{error}: look for the study with find_study()") from error
        return Study(self, details)
