import { expect, it } from 'vitest';
import type { Caller } from '../../core/access.js';
import { taskWith } from '../../core/fixtures/task.js';
import { BulkChanges } from './bulk-changes.js';

const CALLER: Caller = { username: 'ulla', roles: ['USER'], by: 'SESSION' };

it('says that there is more when the last part of the list has more tasks of the caller than the limit', async () => {
  const tasks = Array.from({ length: 5 }, (_, at) =>
    taskWith({ id: `t${at}`, creator: at < 4 ? 'ulla' : 'anna' }),
  );
  const bulk = new BulkChanges({
    lists: { window: async () => ({ tasks, next: null }) },
    transitions: { cancel: async () => true, remove: async () => [] },
    files: { reclaim: async () => undefined },
  } as unknown as ConstructorParameters<typeof BulkChanges>[0]);
  const perform = (limit: number) =>
    bulk.perform({
      action: 'CANCEL',
      filter: { statuses: [] },
      caller: CALLER,
      isDryRun: false,
      limit,
      client: { name: 'ulla', signal: new AbortController().signal },
      reauthorize: async () => undefined,
    });
  expect(await perform(3)).toMatchObject({ matched: 3, changed: 3, hasMore: true });
  expect(await perform(4)).toMatchObject({ matched: 4, changed: 4, hasMore: false });
});
