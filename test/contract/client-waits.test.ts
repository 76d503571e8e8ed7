/** The client's wait for the end of a task (packages/client/task.ts). */
import { Hub } from '@workbench-hub/client';
import { expect, it } from 'vitest';
import { api, hub, hubForEachTest } from '../support/hubs/hub-for-tests.js';

const TASKS = '/api/2.0/workbench/task';

hubForEachTest();

async function cancel(id: string): Promise<void> {
  expect((await api.delete(`${TASKS}/${id}/cancel`)).status).toBe(204);
}

async function remove(id: string): Promise<void> {
  await cancel(id);
  expect((await api.delete(`${TASKS}/${id}/delete`)).status).toBe(204);
}

/** Waits for the end of a task; resolves when the client has seen it wait. */
async function waitFor(id: string) {
  let seen = () => {};
  const isSeen = new Promise<void>((resolve) => {
    seen = resolve;
  });
  const end = new Hub({ url: hub.address }).task(id).wait({ onChange: () => seen() });
  end.catch(() => undefined);
  await isSeen;
  return { end };
}

it('goes on when another task is deleted', async () => {
  const [id, other] = [await api.simulateWork(), await api.simulateWork()];
  const { end } = await waitFor(id);
  await remove(other);
  await cancel(id);
  expect(await end).toMatchObject({ id, status: 'CANCELED' });
});
