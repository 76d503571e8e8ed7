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
    "Locked",
    "LostAnswer",
    "MethodNotAllowed",
    "NotAHub",
    "NotFound",
    "OutputExists",
    "Progress",
    "RangeNotSatisfiable",
    "Result",
    "Storage",
    "StoredFile",
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
