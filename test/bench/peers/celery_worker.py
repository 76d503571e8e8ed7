"""Worker of the Celery peer: the work of `role.ts` in Python."""

import os
import subprocess
import sys

from celery import Celery
from celery.signals import worker_ready

app = Celery("bench", broker=os.environ["REDIS_URL"], backend=os.environ["REDIS_URL"])
# A task is acknowledged when it has run, so that a killed worker loses none.
app.conf.update(task_acks_late=True)


@app.task(name="bench.execute")
def execute(kind, payload):
    """Does nothing, or starts one process."""
    if kind == "PROCESS":
        subprocess.run(["/bin/true"], check=True)
    return {"ok": True}


@worker_ready.connect
def tell(**_):
    """Tells the benchmark that tasks may come."""
    print("worker is ready", flush=True, file=sys.stderr)
