/**
 * Random histories, played on both stores with equal outcomes. A history is generated from a seed, and made shorter when it fails;
 * `WORKBENCH_TEST_SEED` and `WORKBENCH_TEST_RUNS` choose others.
 */
import type { NamedObject } from '@workbench-hub/hub/core/ports/named-objects';
import type { NewTask, Task } from '@workbench-hub/hub/core/task';
import type { Priority } from '@workbench-hub/shared/domain/priority';
import { PRIORITIES } from '@workbench-hub/shared/domain/priority';
import { TASK_STATUSES } from '@workbench-hub/shared/domain/task';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { hasPostgres } from '../support/stores/postgres.js';
import { openOnPostgres, openOnSqlite } from './open-task-stores.js';
import { fileOf, INSTANCE, newTask, type StoreUnderTest, WELL } from './store-under-test.js';

const seed = Number(process.env['WORKBENCH_TEST_SEED'] ?? 20261122);
const numRuns = Number(process.env['WORKBENCH_TEST_RUNS'] ?? 40) / 4;

/** Time after which no further history begins. */
const TIME_LIMIT_MS = 60_000;

/** Tasks of a history, by number. */
const TASKS = 6;
const NOTIFY = { url: 'https://ci.example.org/a', receiver: 'https://ci.example.org' };
const HOOK = {
  ...{ name: 'failures', receiver: 'https://other.example.org', studies: false },
  statuses: ['FAILED'] as const,
};
const TERMS = { overwrite: false, quotaBytes: 12, maxFiles: 3 };

/** Texts with characters that databases treat in ways of their own. */
const text = fc.oneof(
  fc.constantFrom(
    '',
    'Gear 1',
    'a*b',
    '100%',
    'a_b',
    'a\\b',
    "it's",
    '"',
    '{a,b}',
    'NULL',
    'ΣΊΣΥΦΟΣ',
    'Straße',
    '🚀 1',
  ),
  fc.constantFrom(
    '\0',
    'a\0b',
    '\uFDD0',
    '\uFDD00',
    '\uFDD0\0',
    '\uD800',
    'a\uDC00b',
    '\u{F0000}',
    '\uFFFF',
    '\u2028',
  ),
  fc.string({ unit: 'grapheme', maxLength: 8 }),
);
const nullable = fc.option(text);
const taskNumber = fc.nat(TASKS - 1);
const time = fc.nat(50);

interface GivenTask {
  readonly at: number;
  readonly name: string | null;
  readonly note: string | null;
  readonly study: Task['study'];
  readonly creator: string | null;
  readonly label: string;
  readonly priority: Priority;
  readonly isBatch: boolean;
  readonly notify: boolean;
  readonly message: string | null;
}

const givenTask = fc.record<GivenTask>({
  at: taskNumber,
  name: nullable,
  note: nullable,
  study: fc.option(
    fc.record({ id: fc.constantFrom('s', 't'), point: fc.integer({ min: 1, max: 1_000_000 }) }),
  ),
  creator: nullable,
  label: fc.constantFrom('', 'gears', 'ü'),
  priority: fc.constantFrom(...PRIORITIES),
  isBatch: fc.boolean(),
  notify: fc.boolean(),
  message: nullable,
});
const tasks = fc.uniqueArray(taskNumber, { maxLength: 4 });
const attempt = fc.integer({ min: 0, max: 3 });
const refs = fc.array(fc.record({ at: taskNumber, attempt }), { maxLength: 4 });
const loss = fc.constantFrom('CRASH', 'LOSS', 'HOST_FAULT', 'RETURN');
const checkpoint = fc.array(fc.constantFrom('half', 'a', 'b\0'), { maxLength: 3 });
const objectName = fc.constantFrom('a', 'b', 'ü', '\u{1F680}', 'b\0');

/** One call of a store; the second element has its arguments. */
const call = fc.oneof(
  { weight: 3, arbitrary: fc.tuple(fc.constant('insert'), fc.array(givenTask, { maxLength: 3 })) },
  fc.tuple(fc.constant('insertOnce'), fc.record({ task: givenTask, key: fc.constantFrom('k', 'l\0') })),
  { weight: 4, arbitrary: fc.tuple(fc.constant('claim'), fc.record({ tasks, time })) },
  {
    weight: 3,
    arbitrary: fc.tuple(fc.constant('end'), fc.record({ refs, message: nullable, time, name: objectName })),
  },
  {
    weight: 2,
    arbitrary: fc.tuple(
      fc.constant('requeue'),
      fc.record({ refs, loss, reason: nullable, time, checkpoint: fc.option(checkpoint) }),
    ),
  },
  fc.tuple(fc.constant('adopt'), fc.record({ refs, time, isProven: fc.boolean() })),
  fc.tuple(fc.constant('cancel'), fc.record({ tasks, force: fc.boolean(), time })),
  fc.tuple(fc.constant('keepFiles'), refs),
  fc.tuple(fc.constant('remove'), tasks),
  fc.tuple(fc.constant('forgetKeys'), time),
  fc.tuple(fc.constant('removeUnusedGroups'), fc.integer({ min: 1, max: 3 })),
  fc.tuple(
    fc.constant('name'),
    fc.record({ name: objectName, size: fc.nat(9), owner: nullable, time, overwrite: fc.boolean() }),
  ),
  fc.tuple(fc.constant('unname'), objectName),
  fc.tuple(fc.constant('expire'), time),
  fc.tuple(fc.constant('deliver'), fc.record({ time, isTaken: fc.boolean() })),
  fc.tuple(fc.constant('reclaim'), fc.boolean()),
  fc.tuple(fc.constant('reopen'), fc.constant(null)),
);
type Call = typeof call extends fc.Arbitrary<infer Each> ? Each : never;

/** Calls that are made in one turn. */
const history = fc.array(fc.array(call, { minLength: 1, maxLength: 3 }), { maxLength: 14 });

/** A store with the number of each task's latest insertion, which gives the ids. */
class Player {
  store: StoreUnderTest;

  constructor(store: StoreUnderTest) {
    this.store = store;
    this.store.webhooks.subscribe([HOOK], 2);
  }

  /** Calls of the same kind are made at once: others may overtake each other. */
  async play(turn: readonly Call[]): Promise<unknown> {
    const outcomes: unknown[] = [];
    for (let at = 0; at < turn.length; ) {
      const [first, ...rest] = turn.slice(at) as [Call, ...Call[]];
      const others = rest.findIndex(([kind]) => kind !== first[0]);
      const calls = [first, ...rest.slice(0, others < 0 ? rest.length : others)];
      const results = await Promise.allSettled(calls.map((each) => this.#perform(each)));
      // The reasons of refusals are those of each database.
      outcomes.push(...results.map((result) => (result.status === 'fulfilled' ? result.value : 'refused')));
      at += calls.length;
    }
    return { outcomes, state: await this.#state() };
  }

  #perform([kind, given]: Call): Promise<unknown> {
    const { queue, archive, namedObjects, webhooks, inlineBlobs } = this.store;
    switch (kind) {
      case 'insert':
        return this.#insert(given as GivenTask[]);
      case 'insertOnce': {
        const { task, key } = given as { task: GivenTask; key: string };
        return queue.insertOnce(taskOf(task), key);
      }
      case 'claim': {
        const { tasks: at, time: startedAtMs } = given as { tasks: number[]; time: number };
        return queue.claim(at.map((each) => ({ taskId: idOf(each), instance: INSTANCE, startedAtMs })));
      }
      case 'end':
        return this.#end(given as GivenEnd);
      case 'requeue': {
        const {
          refs: lost,
          loss: kindOfLoss,
          reason,
          time: requeuedAtMs,
          checkpoint: names,
        } = given as {
          refs: Ref[];
          loss: 'CRASH';
          reason: string | null;
          time: number;
          checkpoint: string[] | null;
        };
        const files = names?.map((path) => ({ path, ...fileOf(path) }));
        return queue.requeue(
          lost.map((ref) => ({ ref: refOf(ref), loss: kindOfLoss, reason, requeuedAtMs, checkpoint: files })),
        );
      }
      case 'adopt': {
        const {
          refs: held,
          time: startedAtMs,
          isProven,
        } = given as { refs: Ref[]; time: number; isProven: boolean };
        return queue.adopt(
          held.map((ref) => ({ ref: refOf(ref), instance: INSTANCE, startedAtMs, isProven })),
        );
      }
      case 'cancel': {
        const {
          tasks: at,
          force,
          time: endedAtMs,
        } = given as { tasks: number[]; force: boolean; time: number };
        return queue.cancel(at.map(idOf), force ? ['WAITING', 'RUNNING'] : ['WAITING'], endedAtMs);
      }
      case 'keepFiles': {
        const files = { outputFiles: [{ path: 'half\0', ...fileOf('half') }], log: fileOf('log') };
        return queue.keepFiles((given as Ref[]).map((ref) => ({ ref: refOf(ref), files, storedFiles: [] })));
      }
      case 'remove':
        return archive.remove((given as number[]).map(idOf));
      case 'forgetKeys':
        return queue.forgetKeys(given as number);
      case 'removeUnusedGroups':
        return this.#removeUnusedGroups(given as number);
      case 'name': {
        const object = given as {
          name: string;
          size: number;
          owner: string | null;
          time: number;
          overwrite: boolean;
        };
        return namedObjects.put(objectOf(object), { ...TERMS, overwrite: object.overwrite });
      }
      case 'unname':
        return namedObjects.remove('INPUT', given as string);
      case 'expire':
        return namedObjects.removeExpired(given as number);
      case 'deliver':
        return this.#deliver(webhooks, given as { time: number; isTaken: boolean });
      case 'reclaim': {
        const blobs = ['half', 'a', 'script'].map((each) => ({
          digest: fileOf(each).digest,
          encrypted: false,
        }));
        return inlineBlobs.removeUnreferenced(
          blobs,
          ({ digest }) => given === true && digest === blobs[0]?.digest,
        );
      }
      case 'reopen':
        throw new Error('the whole turn reopens');
    }
  }

  async #insert(given: readonly GivenTask[]): Promise<unknown> {
    const told: unknown[] = [];
    await this.store.queue.insert(given.map(taskOf), (waiting) => told.push(waiting));
    return told.flat();
  }

  #end({ refs: ended, message, time: endedAtMs, name: file }: GivenEnd) {
    const files = {
      outputFiles: [{ path: file, ...fileOf('a') }],
      log: message === null ? null : fileOf('log'),
    };
    return this.store.queue.end(
      ended.map((ref) => ({
        ref: refOf(ref),
        ending: { ...WELL, status: message === null ? 'FINISHED' : 'FAILED', message, files },
        endedAtMs,
        storedFiles: [
          { ...objectOf({ name: file, size: 3, owner: null, time: endedAtMs }), area: 'OUTPUT' as const },
        ],
      })),
    );
  }

  async #removeUnusedGroups(limit: number): Promise<void> {
    for (let after: number | null = 0; after !== null; ) {
      after = await this.store.queue.removeUnusedGroups({ afterGroupId: after, limit });
    }
  }

  async #deliver(
    webhooks: StoreUnderTest['webhooks'],
    { time: nowMs, isTaken }: { time: number; isTaken: boolean },
  ) {
    const query = { receiver: NOTIFY.receiver, dueUntilMs: nowMs, leaseUntilMs: nowMs + 5, limit: 2 };
    const claimed = await webhooks.claim(query);
    const settled = await webhooks.settle(
      claimed.map(({ ref }) =>
        isTaken
          ? { ref, state: 'DELIVERED' as const, atMs: nowMs }
          : { ref, state: 'WAITING' as const, nextAtMs: nowMs + 9, fault: 'no\0' },
      ),
    );
    return [claimed.map(({ news, url }) => [news, url]), settled];
  }

  /** All that can be read. */
  async #state(): Promise<unknown> {
    const { queue, archive, namedObjects, webhooks, inlineBlobs } = this.store;
    const ids = Array.from({ length: TASKS }, (_, at) => idOf(at));
    const groups = await queue.waitingGroups({ afterGroupId: 0, limit: 100, maxKeyBytes: 1000 });
    const groupIds = groups.groups.map(({ groupId }) => groupId);
    const list = async (query: object) => {
      const { tasks: listed, totalElements } = await archive.list({
        page: 0,
        size: 100,
        statuses: [],
        ...query,
      });
      return [listed.map(({ id }: Task) => id), totalElements];
    };
    const dropped = await inlineBlobs.dropped(0, 1000);
    return {
      tasks: await Promise.all(ids.map((id) => archive.find(id))),
      jobs: await Promise.all(ids.map((id) => archive.jobOf(id))),
      files: await Promise.all(ids.map((id) => archive.filesOf(id))),
      checkpoints: await Promise.all(ids.map((id) => archive.checkpointOf(id))),
      attempts: await Promise.all(ids.map((id) => archive.formerAttempts(id))),
      deliveries: await Promise.all(ids.map((id) => webhooks.ofTask(id))),
      receivers: sorted(await webhooks.waiting()),
      refused: sorted(await webhooks.takeRefused()),
      groups: sorted(groups.groups.map(({ requirementKey }) => requirementKey)),
      heads: byKey(await queue.heads(groupIds.map((groupId) => ({ groupId, limit: 9 })))),
      ahead: await Promise.all(ids.map((taskId) => queue.countAhead(groupIds, { taskId }, 3))),
      running: sorted(await queue.runningOn(INSTANCE.agentId)),
      lists: await Promise.all(
        [
          {},
          { name: '*\0*' },
          { name: '?? 1' },
          { name: 'σ*ς' },
          { creator: '*' },
          { note: '?*' },
          { study: null },
          { study: 's' },
          { order: 'NEXT_TO_RUN_FIRST' },
        ]
          .concat(TASK_STATUSES.map((status) => ({ statuses: [status] }) as object))
          .map(list),
      ),
      ended: sorted(await archive.endedBefore(100, 100)),
      names: [
        await namedObjects.list('INPUT', { limit: 9 }, 10),
        await namedObjects.list('OUTPUT', { limit: 9 }, 10),
      ],
      uses: [await namedObjects.useOf('INPUT', null, ''), await namedObjects.useOf('INPUT', 'a\0b', 'a')],
      dropped: dropped.map(({ digest }) => digest).sort(),
    };
  }
}

interface GivenEnd {
  readonly refs: readonly Ref[];
  readonly message: string | null;
  readonly time: number;
  readonly name: string;
}

interface Ref {
  readonly at: number;
  readonly attempt: number;
}

const idOf = (at: number) => `task-${at}`;
const refOf = ({ at, attempt: number }: Ref) => ({
  taskId: idOf(at),
  attempt: number,
  instanceId: INSTANCE.id,
});

function taskOf({
  at,
  name: ofTask,
  note,
  study,
  creator,
  label,
  priority,
  isBatch,
  notify,
  message,
}: GivenTask): NewTask {
  const job = {
    type: 'EXECUTE_BATCH_JOB' as const,
    model: null,
    scripts: [fileOf('script')],
    additionalFiles: [],
    variables: [{ key: 'text', value: message ?? '' }],
  };
  return newTask({
    id: idOf(at),
    name: ofTask,
    note,
    study,
    creator,
    priority,
    requestedAtMs: at,
    ignoredFields: message,
    requirement: { version: null, labels: label === '' ? [] : [label] },
    classifiers: [{ type: 'LABLES', value: ofTask ?? '' }],
    notify: notify ? NOTIFY : null,
    ...(isBatch ? { type: job.type, job } : {}),
  });
}

function objectOf({
  name: ofObject,
  size,
  owner,
  time: storedAtMs,
}: {
  name: string;
  size: number;
  owner: string | null;
  time: number;
}): NamedObject {
  return {
    area: 'INPUT',
    name: ofObject,
    owner,
    ...fileOf(`content ${size}`),
    sizeBytes: size,
    storedAtMs,
    expiresAtMs: storedAtMs + 10,
  };
}

/** The tasks of each group stay in their order. */
function byKey<T extends { readonly requirementKey: string }>(items: readonly T[]): T[] {
  return [...items].sort(
    (a, b) => Number(a.requirementKey > b.requirementKey) - Number(a.requirementKey < b.requirementKey),
  );
}

function sorted<T>(items: readonly T[]): T[] {
  return [...items].sort((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1));
}

/** Numbers of groups and tasks only grow, and may leave some out: their order counts. Half a character cannot be stored: SQLite
 *  gives three signs for it, and PostgreSQL one. */
function comparable(outcome: unknown): unknown {
  const text = JSON.stringify(outcome, (key, value) => {
    if (['groupId', 'sequence', 'dequeuedFrom', 'nextAfterGroupId'].includes(key)) return typeof value;
    return value === undefined ? null : value;
  });
  return JSON.parse(text.replaceAll(/\uFFFD+/g, '\uFFFD'));
}

describe.skipIf(!hasPostgres)('a random history', () => {
  it('has the same outcomes on SQLite and PostgreSQL', async () => {
    const property = fc.asyncProperty(history, async (turns) => {
      const sqlite = new Player(await openOnSqlite());
      const postgres = new Player(await openOnPostgres());
      try {
        for (const turn of turns) {
          const calls = turn.filter(([kind]) => kind !== 'reopen');
          if (calls.length < turn.length) {
            for (const player of [sqlite, postgres]) {
              player.store = await player.store.reopen();
              player.store.webhooks.subscribe([HOOK], 2);
            }
          }
          expect(comparable(await postgres.play(calls))).toEqual(comparable(await sqlite.play(calls)));
        }
      } finally {
        await sqlite.store.close();
        await postgres.store.close();
      }
    });
    // On a busy machine, fewer histories are played.
    await fc.assert(property, { seed, numRuns, interruptAfterTimeLimit: TIME_LIMIT_MS });
  });
});
