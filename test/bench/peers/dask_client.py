"""Client of the Dask peer, and the work of `role.ts` in Python: lines of JSON come from the front, and go back to it."""

import asyncio
import json
import subprocess
import sys

from distributed import Client

LONGEST_LINE = 16 * 1024 * 1024


def execute(kind, payload):
    """Does nothing, or starts one process."""
    if kind == "PROCESS":
        subprocess.run(["/bin/true"], check=True)
    return {"ok": True}


async def follow(future, task_id, say):
    """Tells the end of a task."""
    try:
        say({"id": task_id, "state": "COMPLETED", "result": await future})
    except Exception as error:
        say({"id": task_id, "state": "FAILED", "result": str(error)})


async def serve(client, reader, writer):
    """Submits each task of a connection, and says that it has it: the scheduler gets it soon after."""

    def say(message):
        writer.write(json.dumps(message).encode() + b"\n")

    following = set()
    while line := await reader.readline():
        task = json.loads(line)
        future = client.submit(
            execute,
            task["kind"],
            task["payload"],
            key=task["id"],
            priority=task["priority"],
        )
        say({"id": task["id"], "state": "PENDING"})
        end = asyncio.create_task(follow(future, task["id"], say))
        following.add(end)
        end.add_done_callback(following.discard)


async def main(scheduler, port):
    """Listens until it is ended."""
    async with Client(scheduler, asynchronous=True) as client:
        server = await asyncio.start_server(
            lambda reader, writer: serve(client, reader, writer),
            "127.0.0.1",
            port,
            limit=LONGEST_LINE,
        )
        await server.serve_forever()


asyncio.run(main(sys.argv[1], int(sys.argv[2])))
