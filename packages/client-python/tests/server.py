"""A server of tests that answers as a test says: for what a hub does not do on request."""

from __future__ import annotations

import http.server
import json
import threading
from typing import Any, Callable, Dict, List, Optional, Tuple

Answer = Tuple[int, Dict[str, str], bytes]
Handler = Callable[["Request"], Optional[Answer]]


class Request:
    """A request as it arrived."""

    def __init__(self, method: str, target: str, headers: Dict[str, str], body: bytes) -> None:
        self.method = method
        self.target = target
        self.headers = headers
        self.body = body

    @property
    def path(self) -> str:
        return self.target.split("?")[0]


class Server:
    """Listens on loopback while the context lasts; `None` as the answer closes the connection without one."""

    def __init__(self, handler: Handler) -> None:
        self.requests: List[Request] = []
        self._handler = handler
        outer = self

        class Each(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def handle_one(self) -> None:
                length = int(self.headers.get("Content-Length") or 0)
                headers = {name.lower(): value for name, value in self.headers.items()}
                request = Request(self.command, self.path, headers, self.rfile.read(length))
                outer.requests.append(request)
                answer = outer._handler(request)
                if answer is None:
                    self.close_connection = True
                    return
                status, answer_headers, body = answer
                self.send_response(status)
                for name, value in {"Content-Length": str(len(body)), **answer_headers}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(body)
                if int(answer_headers.get("Content-Length", len(body))) != len(body):
                    self.close_connection = True

            do_GET = do_POST = do_DELETE = do_PATCH = handle_one

            def log_message(self, *_: object) -> None:
                pass

        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Each)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,))

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self) -> Server:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


def json_answer(value: Any, status: int = 200, **headers: str) -> Answer:
    named = {name.replace("_", "-"): text for name, text in headers.items()}
    return status, {"Content-Type": "application/json", **named}, json.dumps(value).encode()


def error_answer(status: int, message: str, **headers: str) -> Answer:
    body = {"timestamp": "2026-11-21T06:53:00.123+01:00", "status": status, "error": "Error"}
    return json_answer({**body, "message": message, "path": "/"}, status, **headers)


USER = json_answer({"username": "anna"})
CREATED = json_answer({"id": "1", "status": "WAITING", "requestedDatetime": "2026-11-21T06:53:00.123"}, 201)
BATCH = "/api/2.0/workbench/task/execute-batch-job/create"
