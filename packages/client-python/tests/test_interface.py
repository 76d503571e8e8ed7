"""The interface of a hub: generated types are current, and each operation has a method or a reason to have none."""

from __future__ import annotations

import re
import tempfile
import unittest
from contextlib import suppress
from pathlib import Path
from typing import Any, Callable, Dict
from unittest import mock

from generate_schemas import OUTPUT, document_of, generated
from workbench_hub import Hub, NotAHub, Study, WorkbenchError

from .server import Answer, Request, Server, json_answer
from .site import MODEL, setting

# Satisfies every method that is called below.
ANYTHING: Dict[str, Any] = {
    **{"id": "1", "status": "FINISHED", "type": "EXECUTE_BATCH_JOB", "content": [], "last": True},
    **{"uploads": [], "received": 0, "stored": False},
    **{"exists": True, "active": True, "username": "anna", "accessToken": "t"},
    **{"name": "1", "open": True, "variables": [], "values": [], "points": {"total": 1}, "studies": [], "retried": 0},
    **{"invalidations": [], "tasks": []},
}
CALLS: Dict[str, Callable[[Hub], object]] = {
    "createSimulateWork": lambda hub: hub.submit(duration=1),
    "createTask": lambda hub: hub.submit(duration=1, notify="https://ci.example.org/"),
    "getSimulateWorkResult": lambda hub: hub.wait(hub.submit(duration=1)),
    "createBatchJob": lambda hub: hub.submit(script=b"1"),
    "getBatchJobResult": lambda hub: hub.wait("1"),
    "listTasks": lambda hub: hub.tasks(),
    "getTask": lambda hub: hub.task("1"),
    "getTaskLog": lambda hub: hub.log("1"),
    "cancelTask": lambda hub: hub.cancel("1"),
    "deleteTask": lambda hub: hub.delete("1"),
    "getTaskManifest": lambda hub: hub.manifest("1"),
    "explainTask": lambda hub: hub.explain("1"),
    "explainRequest": lambda hub: hub.explain(labels="a"),
    "createStudy": lambda hub: hub.study("1", script=b"1", vary={"a": [1]}, notify="https://ci.example.org/"),
    "listStudies": lambda hub: hub.studies(),
    "getStudy": lambda hub: study(hub).details(),
    "deleteStudy": lambda hub: study(hub).delete(),
    "listStudyPoints": lambda hub: study(hub).points(),
    "addStudyPoints": lambda hub: study(hub).add([{"a": 1}]),
    "pauseStudy": lambda hub: study(hub).pause(),
    "resumeStudy": lambda hub: study(hub).resume(),
    "stopStudy": lambda hub: study(hub).stop(),
    "retryStudyPoints": lambda hub: study(hub).retry("CANCELED"),
    "listTasksByPlace": lambda hub: study(hub).tasks(),
    "listInvalidations": lambda hub: hub.invalidations(),
    "addInvalidation": lambda hub: hub.invalidate(instance="1"),
    "deleteInvalidation": lambda hub: hub.revalidate("1"),
    "listInstances": lambda hub: hub.instances(),
    "getInstance": lambda hub: hub.instance("1"),
    "getInstanceLog": lambda hub: hub.instance_log("1"),
    "startInstance": lambda hub: hub.start_instance("1"),
    "stopInstance": lambda hub: hub.stop_instance("1"),
    "restartInstance": lambda hub: hub.restart_instance("1"),
    "listAgentStates": lambda hub: hub.agents(),
    "getAgentState": lambda hub: hub.agent("1"),
    "drainAgent": lambda hub: hub.drain("1"),
    "undrainAgent": lambda hub: hub.undrain("1"),
    "getInputStorageStatus": lambda hub: hub.storage.is_active(),
    "uploadInputFile": lambda hub: hub.storage.put(MODEL),
    "checkInputFile": lambda hub: hub.storage.exists("1"),
    "deleteInputFile": lambda hub: hub.storage.remove("1"),
    "downloadOutputFile": lambda hub: download(hub),
    "streamEvents": lambda hub: follow(hub),
    "listInputUploads": lambda hub: put_in_parts(hub),
    "beginInputUpload": lambda hub: put_in_parts(hub),
    "sendInputUploadPart": lambda hub: put_in_parts(hub),
    "getInputUpload": lambda hub: put_in_parts(hub),
    "logIn": lambda hub: Hub(hub.url, user="anna", password="x").user(),
    "refreshAccessToken": lambda hub: with_session(hub, lambda each: each._access.renew("t")),
    "logOut": lambda hub: with_session(hub, lambda each: each.close()),
    "getCurrentUser": lambda hub: hub.user(),
    "createPersonalToken": lambda hub: hub.tokens.create("n"),
    "listPersonalTokens": lambda hub: hub.tokens.list(),
    "revokePersonalToken": lambda hub: hub.tokens.revoke("1"),
    "getHealth": lambda hub: hub.health(),
    "getInfo": lambda hub: hub.info(),
    "getHubLog": lambda hub: hub.hub_log(),
    "getMetrics": lambda hub: hub.metrics(),
    "getServerInfo": lambda hub: hub.server_info(),
    "listHubs": lambda hub: hub.hubs(),
    "listUpstreams": lambda hub: hub.upstreams(),
    "listHostRecipes": lambda hub: hub.host_recipes(),
    "listHostHours": lambda hub: hub.host_hours(),
    "pauseHostRecipe": lambda hub: hub.pause_hosts("gears"),
    "resumeHostRecipe": lambda hub: hub.resume_hosts("gears"),
    "drainHostRecipe": lambda hub: hub.drain_hosts("gears"),
    "getRollout": lambda hub: hub.rollout(),
    "stopRollout": lambda hub: hub.stop_rollout(),
    "resumeRollout": lambda hub: hub.resume_rollout(),
    "getShutdownPreparation": lambda hub: hub.shutdown_preparation(),
    "changeShutdownPreparation": lambda hub: hub.prepare_shutdown(),
    "listAuditEntries": lambda hub: hub.audit(),
    "getOpenApiDocument": lambda hub: hub.openapi(),
}
# Operations without a method, each with its reason.
WITHOUT: Dict[str, str] = {
    "listAgents": "agents() reads the list of /api/x, which has the drains as well",
    "getAgent": "agent() reads that of /api/x",
    "getLiveness": "for orchestrators, which ask the hub without a library",
    "getReadiness": "for orchestrators, which ask the hub without a library",
    "getAgentUpdate": "for administrators, who update agents with an HTTP client",
    "updateAgent": "for administrators, who update agents with an HTTP client",
    "enrollAgent": "for administrators, who enroll agents with workbench-hub",
    "revokeAgent": "for administrators, who revoke agents with workbench-hub",
    "listUsers": "for administrators, who manage users in the console or with workbench-hub",
    "addUser": "for administrators, who manage users in the console or with workbench-hub",
    "changeUser": "for administrators, who manage users in the console or with workbench-hub",
    "setUserPassword": "for administrators, who manage users in the console or with workbench-hub",
    "endUserSessions": "for administrators, who manage users in the console or with workbench-hub",
    "getTaskDetails": "task() reads the task that every hub has",
    "cancelTasks": "a script cancels the tasks that it knows, one by one",
    "deleteTasks": "a script deletes the tasks that it knows, one by one",
    "listTaskInputs": "a script has its inputs",
    "downloadTaskInput": "a script has its inputs",
    "listTaskOutputs": "outputs() reads the result that every hub has",
    "downloadTaskOutputs": "outputs() reads the result that every hub has",
    "downloadTaskOutput": "outputs() reads the result that every hub has",
    "streamStudyEvents": "wait() of a study asks for its state",
    "followTaskLog": "log() follows the log that every hub has",
    "listManifestKeys": "wb verify verifies manifests, and keeps the keys",
    "listInputFiles": "a script knows the names that it has put there",
    "downloadInputFile": "a script has its inputs",
    "listInstanceCrashes": "for consoles and monitors; a script learns from its result why an attempt was lost",
    "listTasksOfInput": "for consoles, which show who uses a file",
    "listOutputFiles": "result() names the stored files of a task",
    "getCaller": "for consoles, which show what the roles of their user allow",
    "getSignOn": "wb logs in by the sign-on, and prints its tokens for others",
    "beginSignOn": "for browsers",
    "finishSignOn": "for browsers",
    "refreshSignOn": "for browsers",
    "endSignOn": "for browsers",
    "createBatchJobByForm": "submit() sends a batch job as JSON, which every hub takes",
    "getUploadOptions": "for clients of tus, which ask what a hub can do",
    "deleteInputUpload": "an upload that storage.put() has begun goes on later, or expires",
    "getStatistics": "for overviews, which are no part of a script",
}


def study(hub: Hub) -> Study:
    return hub.study("1", script=b"1", vary={"a": [1]})


def download(hub: Hub) -> None:
    with tempfile.TemporaryDirectory() as folder:
        hub.storage.get("1", Path(folder) / "file")


def follow(hub: Hub) -> None:
    with suppress(NotAHub):
        next(hub.events())


def put_in_parts(hub: Hub) -> None:
    with mock.patch.multiple("workbench_hub._parts", ONE_REQUEST_BYTES=0, MAX_TRIES=1), suppress(WorkbenchError):
        hub.storage.put(MODEL)


def with_session(hub: Hub, act: Callable[[Hub], object]) -> None:
    each = Hub(hub.url, user="anna", password="x")
    each.user()
    act(each)


class Interface(unittest.TestCase):
    document: Dict[str, Any]

    @classmethod
    def setUpClass(cls) -> None:
        cls.document = document_of(setting("WB_TEST_URL") + "/openapi.json")

    def test_the_generated_types_are_those_of_the_hub(self) -> None:
        advice = "run generate_schemas.py with the address of a hub"
        self.assertEqual(OUTPUT.read_text(), generated(self.document), advice)

    def test_each_operation_has_a_method_that_calls_it_or_a_reason(self) -> None:
        def answer(request: Request) -> Answer:
            is_list = request.method == "GET" and request.path.endswith("/points")
            given = {**ANYTHING, "points": []} if is_list else ANYTHING
            return json_answer(given, 200, Set_Cookie="refreshToken=1")

        operations = {
            operation["operationId"]: (method.upper(), path)
            for path, methods in self.document["paths"].items()
            for method, operation in methods.items()
            # Earlier API versions show the same tasks.
            if not path.startswith(("/api/1.0/", "/api/1.1/"))
        }
        self.assertEqual(sorted([*CALLS, *WITHOUT]), sorted(operations))
        for name, call in CALLS.items():
            with self.subTest(operation=name), Server(answer) as server, Hub(server.url) as hub:
                call(hub)
                method, path = operations[name]
                pattern = re.sub(r"\\\{\w+\\\}", "[^/]+", re.escape(path))
                made = [each for each in server.requests if each.method == method]
                self.assertTrue(any(re.fullmatch(pattern, each.path) for each in made), (name, path))
