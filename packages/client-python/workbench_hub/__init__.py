"""Client of Workbench Hub, on the standard library alone.

    from workbench_hub import Hub

    hub = Hub("http://127.0.0.1:8080")
    hub.run(model="gear.xml", script="run.js", variables={"load": 12}, out="results")
"""

from ._creation import Task
from ._errors import (
    AgentUnavailable,
    Conflict,
    DiskFull,
    Forbidden,
    HubError,
    HubUnreachable,
    InvalidInput,
    KeyReused,
    Locked,
    LostAnswer,
    MethodNotAllowed,
    NotAHub,
    NotFound,
    OutputExists,
    RangeNotSatisfiable,
    StudyHalted,
    TaskCanceled,
    TaskFailed,
    TaskNotFinished,
    TooLarge,
    TooManyAttempts,
    TooSlow,
    Unauthenticated,
    Unavailable,
    UnsafeName,
    UnsupportedMediaType,
    UnsupportedVersion,
    UsageError,
    WaitTimeout,
    WorkbenchError,
)
from ._events import Event
from ._hub import Hub
from ._job import Content, HostFile, StoredFile
from ._progress import Progress
from ._result import Result
from ._service import Tokens
from ._storage import Storage
from ._study import Study
from ._study_plan import LatinHypercube, OneAtATime, Open, Range, Sobol
from ._study_points import PointOutcome
from ._webhook import WebhookRefused, verify_webhook

__version__ = "0.1.0"

__all__ = [
    "AgentUnavailable",
    "Conflict",
    "Content",
    "DiskFull",
    "Event",
    "Forbidden",
    "HostFile",
    "Hub",
    "HubError",
    "HubUnreachable",
    "InvalidInput",
    "KeyReused",
    "LatinHypercube",
    "Locked",
    "LostAnswer",
    "MethodNotAllowed",
    "NotAHub",
    "NotFound",
    "OneAtATime",
    "Open",
    "OutputExists",
    "PointOutcome",
    "Progress",
    "Range",
    "RangeNotSatisfiable",
    "Result",
    "Sobol",
    "Storage",
    "StoredFile",
    "Study",
    "StudyHalted",
    "Task",
    "TaskCanceled",
    "TaskFailed",
    "TaskNotFinished",
    "Tokens",
    "TooLarge",
    "TooManyAttempts",
    "TooSlow",
    "Unauthenticated",
    "Unavailable",
    "UnsafeName",
    "UnsupportedMediaType",
    "UnsupportedVersion",
    "UsageError",
    "WaitTimeout",
    "WebhookRefused",
    "WorkbenchError",
    "verify_webhook",
]
