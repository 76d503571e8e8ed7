/** Tasks of a hub that the console is to show. */

const TASKS = '/api/2.0/workbench/task';

export interface EndedTask {
  readonly id: string;
  readonly endedAtMs: number;
}

/** Creates a task that does nothing for this time; returns its id. */
export async function createTask(address: string, name: string, durationS = 0): Promise<string> {
  const response = await fetch(`${address}${TASKS}/simulate-work/create`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ name, duration: durationS }),
  });
  if (response.status !== 201) throw new Error(`create answered ${response.status} ${await response.text()}`);
  return ((await response.json()) as { id: string }).id;
}

/** Waits for the end of a task. */
export async function endOf(address: string, id: string): Promise<void> {
  for (;;) {
    const response = await fetch(`${address}${TASKS}/simulate-work/${id}/result?timeout=60`);
    const { status } = (await response.json()) as { status: string };
    if (status === 'FINISHED') return;
    if (status !== 'WAITING' && status !== 'RUNNING') throw new Error(`the task ended as ${status}`);
  }
}

/** Finished tasks of the hub with the time of their end. */
export async function endedTasks(address: string): Promise<EndedTask[]> {
  const ended: EndedTask[] = [];
  for (let next: string | undefined = ''; next !== undefined; ) {
    const after: string = next === '' ? '' : `&after=${encodeURIComponent(next)}`;
    const response = await fetch(`${address}/api/x/tasks?status=FINISHED&limit=2000${after}`);
    const body = (await response.json()) as {
      tasks: { id: string; endedAt: string }[];
      next?: string;
    };
    ended.push(...body.tasks.map(({ id, endedAt }) => ({ id, endedAtMs: Date.parse(endedAt) })));
    next = body.next;
  }
  return ended;
}
