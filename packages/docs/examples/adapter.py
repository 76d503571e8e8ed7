"""An instance program in Python: runs each script with the command in its arguments, such as `adapter.py bash`."""
import contextlib, json, os, signal, subprocess, sys, threading
output_lock = threading.Lock()
def send(**message):
    with output_lock:
        print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)
def kill(process, _=None):
    with contextlib.suppress(AttributeError, ProcessLookupError):  # not started yet, or already ended
        os.killpg(process.pid, signal.SIGKILL)

class Job(threading.Thread):
    def __init__(self, call, params):
        super().__init__(daemon=True)
        self.call, self.params, self.task_id = call, params, params["taskId"]
        self.process, self.canceled, self.responded = None, threading.Event(), False
    def run(self):
        try:
            response = {"result": self.simulate() if "durationMs" in self.params else self.execute()}
        except Exception as error:  # the job could not be run: the message goes to the owner of the task
            response = {"error": {"code": -32001, "message": f"{type(error).__name__}: {error}"}}
        if self.canceled.is_set():
            response = {"error": {"code": -32800, "message": "canceled"}}
        self.process, self.responded = None, True
        send(id=self.call, **response)
    def simulate(self):
        self.canceled.wait(self.params["durationMs"] / 1000)
        return {}
    def execute(self):
        for number, script in enumerate(self.params["scripts"], 1):
            self.process = subprocess.Popen(
                [*sys.argv[1:], script], cwd=self.params["workingDirectory"], start_new_session=True,
                env={**os.environ, **self.params["environment"]}, encoding="utf-8", errors="replace",
                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
            if self.canceled.is_set(): self.cancel()
            threading.Thread(target=lambda it=self.process: kill(it, it.wait())).start()  # what it leaves holds its output
            for text in iter(lambda: self.process.stdout.readline(65536), ""):
                send(method="output", params={"taskId": self.task_id, "stream": "stdout", "text": text})
            if code := self.process.wait(): return {"status": "ERROR", "message": f"script {number} exited with {code}"}
        return {"status": "OK"}
    def cancel(self):
        self.canceled.set()
        kill(self.process)

job = method = None
for message in map(json.loads, sys.stdin):
    call, method, params = message.get("id"), message["method"], message.get("params")
    running = job if job and not job.responded else None
    if method == "shutdown": break
    if method == "initialize":
        send(id=call, result={"protocolVersion": 1, "name": "adapter.py", "version": "1.0"})
    elif method in ("simulateWork", "executeBatchJob") and not running:
        (job := Job(call, params)).start()
    elif method == "cancel":
        if running and running.task_id == params["taskId"]: running.cancel()
        send(id=call, result=None)
    else:
        send(id=call, error={"code": -32600 if running else -32601, "message": f"cannot do {method} now"})
if job: job.cancel(), job.join()  # at `shutdown`, and at the end of standard input
if method == "shutdown": send(id=call, result=None)
