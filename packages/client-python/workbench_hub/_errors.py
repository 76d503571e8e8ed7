"""Errors of the client: one class for each status with which the hub refuses a request, and one for each other failure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Dict, Mapping, Optional, Sequence, Tuple, Type

if TYPE_CHECKING:
    from . import schemas
    from ._result import Result


class WorkbenchError(Exception):
    """Base class of every error that this package raises on purpose."""


class UsageError(WorkbenchError, ValueError):
    """Arguments, a profile or a file that cannot be used; nothing was sent to the hub."""


class HubUnreachable(WorkbenchError, ConnectionError):
    """No answer within the time for retries: the hub is down, its address is wrong, or a proxy or certificate is in the way."""


class NotAHub(WorkbenchError):
    """The server answered, but not as a Workbench Hub."""


class LostAnswer(HubUnreachable):
    """The answer to a change was lost, so that it is unknown whether the change was made.

    `key` is the idempotency key of the request, `None` for requests without one.
    """

    def __init__(self, message: str, key: Optional[str] = None) -> None:
        super().__init__(message)
        self.key = key


class WaitTimeout(WorkbenchError, TimeoutError):
    """The task or study has not ended within the `timeout` of the wait. It goes on."""


class StudyHalted(WorkbenchError):
    """The study is paused or stopped, so that points do not begin; `details` has its state, and the reason if it did so by itself."""

    def __init__(self, message: str, details: schemas.Study) -> None:
        super().__init__(message)
        self.details = details


class OutputExists(WorkbenchError, FileExistsError):
    """Files that the outputs would replace. Nothing was written; `overwrite=True` replaces them."""

    def __init__(self, paths: Sequence[str]) -> None:
        shown = ", ".join(list(paths)[:5]) + (f" and {len(paths) - 5} more" if len(paths) > 5 else "")
        super().__init__(f"exists already: {shown}; overwrite=True replaces it")
        self.paths = list(paths)


class UnsafeName(WorkbenchError):
    """The name of an output would leave the folder of the outputs, or be that of another output. Nothing was written."""


class TaskNotFinished(WorkbenchError):
    """Base class of `TaskFailed` and `TaskCanceled`; `result` has the log, the outputs and the reason."""

    def __init__(self, message: str, result: Result) -> None:
        super().__init__(message)
        self.result = result


class TaskFailed(TaskNotFinished):
    """The task has ended with the status FAILED."""


class TaskCanceled(TaskNotFinished):
    """The task has ended with the status CANCELED."""


class HubError(WorkbenchError):
    """A refusal by the hub, with what its error body says.

    `codes` are the hub's own names of the reasons behind this status.
    """

    codes: Tuple[str, ...] = ()

    def __init__(
        self,
        status: int,
        message: str,
        *,
        error: str = "",
        path: str = "",
        request_id: Optional[str] = None,
        retry_after: Optional[float] = None,
    ) -> None:
        super().__init__(f"{status} {error}: {message}".replace(" :", ":"))
        self.status = status
        self.message = message
        self.error = error
        self.path = path
        self.request_id = request_id
        self.retry_after = retry_after


class InvalidInput(HubError):
    """400: a field is wrong; the message names each field and what is allowed."""

    codes = ("INVALID_INPUT", "DIGEST_MISMATCH")


class Unauthenticated(HubError):
    """401: no token, or one that has expired, was revoked, or is not of this hub."""

    codes = ("UNAUTHENTICATED",)


class Forbidden(HubError):
    """403: the user of the token may not do this."""

    codes = ("FORBIDDEN", "FOREIGN_ORIGIN", "STORED_FILE_FOREIGN")


class NotFound(HubError):
    """404: there is no such task, study, instance, agent, file or token, or the hub is too old to know the path."""

    codes = (
        "UNKNOWN_PATH",
        "TASK_NOT_FOUND",
        "STUDY_NOT_FOUND",
        "INVALIDATION_NOT_FOUND",
        "RECIPE_NOT_FOUND",
        "INSTANCE_NOT_FOUND",
        "AGENT_NOT_FOUND",
        "STORED_FILE_NOT_FOUND",
        "TASK_FILE_NOT_FOUND",
        "TOKEN_NOT_FOUND",
        "USER_NOT_FOUND",
        "UPLOAD_NOT_FOUND",
    )


class MethodNotAllowed(HubError):
    """405: the hub is too old to know this method of the path."""

    codes = ("METHOD_NOT_ALLOWED",)


class Conflict(HubError):
    """409: the state of the task or study forbids it, or the name exists."""

    codes = (
        "STORED_FILE_EXISTS",
        "TOO_MANY_TOKENS",
        "TASK_NOT_CANCELABLE",
        "TASK_NOT_DELETABLE",
        "STUDY_NOT_CHANGEABLE",
        "AGENT_NOT_ENROLLED",
        "AGENT_NOT_UPDATABLE",
        "USER_EXISTS",
        "USER_CONFIGURED",
        "OWN_USER",
        "LAST_ADMINISTRATOR",
        "WRONG_OFFSET",
    )


class TooSlow(HubError):
    """408: a login did not arrive in time."""

    codes = ("BODY_TOO_SLOW",)


class UnsupportedVersion(HubError):
    """412: the version of the upload protocol is not that of the hub."""

    codes = ("UNSUPPORTED_TUS_VERSION",)


class TooLarge(HubError):
    """413: the request or a file is too large, or exceeds the quota of the user."""

    codes = ("BODY_TOO_LARGE", "QUOTA_EXCEEDED")


class UnsupportedMediaType(HubError):
    """415: the body has another content type than this endpoint takes."""

    codes = ("UNSUPPORTED_MEDIA_TYPE",)


class RangeNotSatisfiable(HubError):
    """416: the file has no such range."""

    codes = ("RANGE_NOT_SATISFIABLE",)


class KeyReused(HubError):
    """422: another creation was made with this idempotency key."""

    codes = ("IDEMPOTENCY_KEY_REUSED",)


class Locked(HubError):
    """423: the hub prepares its shutdown and accepts no tasks, the storage is off, or another request sends the upload."""

    codes = ("SHUTDOWN_PREPARED", "INPUT_STORAGE_OFF", "OUTPUT_STORAGE_OFF", "UPLOAD_IN_PROGRESS")


class TooManyAttempts(HubError):
    """429: too many failed logins, refreshes or streams; `retry_after` has the seconds until the next try."""

    codes = ("TOO_MANY_ATTEMPTS", "TOO_MANY_REFRESHES", "TOO_MANY_STREAMS")


class AgentUnavailable(HubError):
    """502: the agent of the instance is not connected, or does not answer."""

    codes = ("AGENT_UNAVAILABLE",)


class Unavailable(HubError):
    """503: the hub is overloaded, or cannot reach its database, another hub or the sign-on. It was tried again until `retry_for` passed."""

    codes = ("HUB_UNAVAILABLE", "OVERLOADED", "SIGN_ON_UNAVAILABLE", "STORE_UNAVAILABLE")


class DiskFull(HubError):
    """507: the disk of the hub is full; nothing was changed."""

    codes = ("STORAGE_FULL",)


CLASS_OF: Mapping[int, Type[HubError]] = {
    400: InvalidInput,
    401: Unauthenticated,
    403: Forbidden,
    404: NotFound,
    405: MethodNotAllowed,
    408: TooSlow,
    409: Conflict,
    412: UnsupportedVersion,
    413: TooLarge,
    415: UnsupportedMediaType,
    416: RangeNotSatisfiable,
    422: KeyReused,
    423: Locked,
    429: TooManyAttempts,
    502: AgentUnavailable,
    503: Unavailable,
    507: DiskFull,
}


def refusal(
    body: Mapping[str, object], request_id: Optional[str], retry_after: Optional[float]
) -> HubError:
    """The error for an error body of the hub. A status without a class of its own is a plain `HubError`."""
    status = body.get("status")
    number = status if isinstance(status, int) else 0
    texts: Dict[str, str] = {name: str(body.get(name, "")) for name in ("message", "error", "path")}
    return CLASS_OF.get(number, HubError)(
        number,
        # The hub advises those who call its interface.
        texts["message"].replace("; add ?force=true to end it", "; force=True ends it"),
        error=texts["error"],
        path=texts["path"],
        request_id=request_id,
        retry_after=retry_after,
    )
