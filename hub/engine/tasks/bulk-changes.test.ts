import { expect, it } from 'vitest';
import type { Caller, Role } from '../../core/access.js';
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
      reauthorize: async () => CALLER,
    });
  expect(await perform(3)).toMatchObject({ matched: 3, changed: 3, hasMore: true });
  expect(await perform(4)).toMatchObject({ matched: 4, changed: 4, hasMore: false });
});

it.each<[string, Role, Role, string[]]>([
  ['lost the role ADMIN', 'ADMIN', 'USER', ['t0', 't1', 't2']],
  ['got the role ADMIN', 'USER', 'ADMIN', ['t0', 't2']],
])('a caller who %s meanwhile changes tasks that both roles permit', async (_, before, after, ids) => {
  const parts = [
    [taskWith({ id: 't0', creator: 'ulla' }), taskWith({ id: 't1', creator: 'anna' })],
    [taskWith({ id: 't2', creator: 'ulla' }), taskWith({ id: 't3', creator: 'anna' })],
  ];
  const roles = [before, after];
  const removed: string[] = [];
  const bulk = new BulkChanges({
    lists: { window: async () => ({ tasks: parts.shift(), next: parts.length > 0 ? 'next' : null }) },
    transitions: {
      remove: async (part: string[]) => {
        removed.push(...part);
        return part.map(() => true);
      },
    },
    files: { reclaim: async () => undefined },
  } as unknown as ConstructorParameters<typeof BulkChanges>[0]);
  const outcome = await bulk.perform({
    action: 'REMOVE',
    filter: { statuses: [] },
    caller: { ...CALLER, roles: [before] },
    isDryRun: false,
    limit: 10,
    client: { name: 'ulla', signal: new AbortController().signal },
    reauthorize: async () => ({ ...CALLER, roles: [roles.shift() ?? after] }),
  });
  expect(removed).toEqual(ids);
  expect(outcome).toMatchObject({ matched: ids.length, changed: ids.length, hasMore: false });
  expect(outcome.examples.map(({ id }) => id)).toEqual(ids);
});
