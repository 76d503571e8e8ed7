/** Studies with their parts and points. */
import type { EndedPoint, StudyQuery } from '@workbench-hub/hub/core/ports/studies';
import type { EndSubscription } from '@workbench-hub/hub/core/ports/webhook-deliveries';
import type { Invalidation } from '@workbench-hub/hub/core/studies/reuse/invalidation';
import type {
  BegunPoint,
  NewStudy,
  PointEnd,
  StudyDefinition,
  StudyRecord,
} from '@workbench-hub/hub/core/studies/study';
import type { PointValue } from '@workbench-hub/hub/core/studies/variables';
import { systemRuntime } from '@workbench-hub/shared/runtime/system-runtime';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { eventually } from '../support/eventually.js';
import { fileOf, type OpenStore, type StoreUnderTest } from './store-under-test.js';

const NOW = 1_795_000_000_000;
const ODD = 'a\0b \uFDD0 \uFDD00 🚀 "\\\n';
/** A lone surrogate, which only JSON can keep. */
const LONE = `${ODD}\uD800`;

const DEFINITION: StudyDefinition = {
  classifiers: [],
  timeLimitS: null,
  job: { type: 'EXECUTE_BATCH_JOB', model: null, scripts: [], additionalFiles: [], variables: [] },
  variables: [],
  values: [],
  success: [],
  stopAfterFailures: null,
  stopAfterS: null,
  stopWhen: [],
  reuse: false,
  bundle: false,
};

const WHOLE_DEFINITION: StudyDefinition = {
  classifiers: [{ type: 'LABLES', value: LONE }],
  timeLimitS: 2.5,
  job: {
    type: 'EXECUTE_BATCH_JOB',
    model: { kind: 'BLOB', path: 'model.x', ...fileOf('model') },
    scripts: [{ ...fileOf('script'), encrypted: true, filename: LONE }],
    additionalFiles: [{ path: 'more', ...fileOf('more') }],
    variables: [{ key: 'k', value: LONE }],
  },
  variables: [
    { name: 'load', kind: 'NUMBER', unit: 'N', lower: -1e300, upper: 0.1, scale: 'LINEAR' },
    { name: 'steel', kind: 'TEXT', unit: null, lower: null, upper: null, scale: 'LINEAR' },
  ],
  values: [
    {
      name: 'force',
      unit: 'kN',
      kind: 'NUMBER',
      source: { kind: 'FILE', path: 'out.csv' },
      reader: { kind: 'CSV', column: LONE, take: { row: 3 }, delimiter: '\t', decimal: ',' },
    },
  ],
  success: [{ value: 'force', lower: null, upper: 7 }],
  stopAfterFailures: 3,
  stopAfterS: 60,
  stopWhen: [{ value: 'force', lower: 1, upper: null }],
  reuse: true,
  bundle: true,
};

export function newStudy(rest: Partial<NewStudy> = {}): NewStudy {
  return {
    id: systemRuntime.newId(),
    name: 'Gear',
    note: null,
    creator: null,
    state: 'RUNNING',
    message: null,
    createdAtMs: NOW,
    runningSinceMs: NOW,
    endedAtMs: null,
    key: null,
    pointCount: 4,
    begunCount: 0,
    retryCount: 0,
    isOpen: false,
    definition: DEFINITION,
    plan: { kind: 'OPEN' },
    notify: null,
    ...rest,
  };
}

function recordOf({ definition: _, plan: __, notify: ___, key: ____, ...record }: NewStudy) {
  return record;
}

const FINISHED: PointEnd = {
  outcome: 'FINISHED',
  cause: null,
  message: null,
  values: [],
  source: null,
  startedAtMs: NOW + 1,
  endedAtMs: NOW + 2,
};
const CRASHED: PointEnd = {
  outcome: 'INFRASTRUCTURE',
  cause: 'CRASH',
  message: ODD,
  values: [],
  source: null,
  startedAtMs: null,
  endedAtMs: NOW + 3,
};

function ended(number: number, end: PointEnd = FINISHED, tries = 1): EndedPoint {
  return { number, tries, ...end };
}

function begunPoint(variables: readonly PointValue[], rest: Partial<BegunPoint> = {}): BegunPoint {
  return { variables, bundle: null, notReused: null, end: null, ...rest };
}

export function describeStudies(open: OpenStore): void {
  let store: StoreUnderTest;
  beforeEach(async () => {
    store = await open();
  });
  afterEach(() => store.close());

  const create = async (rest: Partial<NewStudy> = {}) => {
    const study = newStudy(rest);
    await store.studies.create(study);
    return study;
  };
  const stateOf = async (id: string) => {
    const { state, message, endedAtMs } = (await store.studies.find(id)) ?? {};
    return { state, message, endedAtMs };
  };
  const begin = (id: string, begunCount: number, count: number) => {
    const begun = Array.from({ length: count }, (_, index) => begunPoint([begunCount + index + 1]));
    return store.studies.begin(id, begunCount, begun);
  };
  const points = async (id: string) => store.studies.points(id, { after: 0, limit: 100, outcomes: [] });
  const numbersOf = (all: readonly { readonly number: number }[]) => all.map(({ number }) => number);
  const openNumbers = async (id: string) => numbersOf(await store.studies.open(id, 100));
  /** A study with as many points, which all have begun. */
  const begun = async (count: number, rest: Partial<NewStudy> = {}) => {
    const { id } = await create({ pointCount: count, ...rest });
    expect(await begin(id, 0, count)).toBe(true);
    return id;
  };
  /** A study whose points have all ended so. */
  const endedWith = async (...ends: PointEnd[]) => {
    const id = await begun(ends.length);
    const all = ends.map((end, index) => ended(index + 1, end));
    expect(await store.studies.end(id, all)).toEqual(ends.map(() => true));
    return id;
  };
  const setState = (id: string, to: 'RUNNING' | 'PAUSED' | 'STOPPED' | 'FINISHED', atMs = NOW) =>
    store.studies.setState(id, ['RUNNING', 'PAUSED'], to, { atMs, message: null });

  describe('a study', () => {
    it('is read back as it was written, also after a restart', async () => {
      const plain = await create();
      const whole = await create({
        name: ODD,
        note: ODD,
        creator: ODD,
        state: 'STOPPED',
        message: ODD,
        endedAtMs: NOW + 1,
        pointCount: 10_000_000,
        isOpen: true,
        definition: WHOLE_DEFINITION,
        plan: { kind: 'LIST', points: [{ load: 0.1, steel: LONE }] },
      });
      store = await store.reopen();
      for (const { plan, notify: _, key: ___, ...study } of [plain, whole]) {
        expect(await store.studies.find(study.id)).toEqual(study);
        const { definition: __, ...record } = study;
        expect(await store.studies.record(study.id)).toEqual(record);
        expect(await store.studies.partWith(study.id, 1)).toEqual({
          first: 1,
          count: study.pointCount,
          plan,
        });
      }
      expect(await store.studies.find(newStudy().id)).toBeUndefined();
      expect(await store.studies.record(newStudy().id)).toBeUndefined();
    });

    it('is listed newest first, by its name, and after another one', async () => {
      const first = recordOf(await create());
      const second = recordOf(await create({ name: ODD }));
      const third = recordOf(await create({ name: 'gear' }));
      const fourth = recordOf(await create());
      const list = (query: Partial<StudyQuery> = {}) =>
        store.studies.list({ name: null, after: null, limit: 10, ...query });
      const all = (studies: StudyRecord[]) => ({ studies, next: null });
      expect(await list()).toEqual(all([fourth, third, second, first]));
      const { studies, next: after } = await list({ limit: 2 });
      expect(studies).toEqual([fourth, third]);
      expect(await list({ after, limit: 1 })).toEqual({ studies: [second], next: expect.any(String) });
      expect(await list({ after, limit: 2 })).toEqual(all([second, first]));
      expect(await list({ name: 'Gear' })).toEqual(all([fourth, first]));
      expect(await list({ name: 'Gear', after })).toEqual(all([first]));
      expect(await list({ name: ODD })).toEqual(all([second]));
      expect(await list({ name: 'nobody' })).toEqual(all([]));
    });

    it('that is deleted between two windows of the list does not end it', async () => {
      const first = recordOf(await create({ state: 'STOPPED', endedAtMs: NOW }));
      const second = recordOf(await create({ state: 'STOPPED', endedAtMs: NOW }));
      const { next: after } = await store.studies.list({ name: null, after: null, limit: 1 });
      expect(await store.studies.remove(second.id)).toBe(true);
      expect(await store.studies.list({ name: null, after, limit: 1 })).toEqual({
        studies: [first],
        next: null,
      });
    });

    it('is not listed after what never was a place in the list', async () => {
      const { id } = await create();
      for (const after of [id, '', '-1', '1.5']) {
        const listed = store.studies.list({ name: null, after, limit: 1 });
        await expect(listed).rejects.toThrow('after: must be the "next" of an earlier response');
      }
    });

    it('with a long name is found by it', async () => {
      const name = 'long '.repeat(2000);
      const { id } = await create({ name });
      const { studies } = await store.studies.list({ name, after: null, limit: 1 });
      expect(studies.map((each) => each.id)).toEqual([id]);
    });

    it('is active while it runs or has open points, oldest first', async () => {
      const running = await create({ isOpen: true });
      const paused = await begun(2);
      const stopped = await begun(1);
      const idle = await create();
      for (const id of [paused, idle.id]) expect(await setState(id, 'PAUSED')).toBe(true);
      expect(await setState(stopped, 'STOPPED', NOW)).toBe(true);
      const none = { runningSinceMs: NOW, begunCount: 0, retryCount: 0, isOpen: false };
      expect(await store.studies.active()).toEqual([
        { ...none, id: running.id, state: 'RUNNING', pointCount: 4, isOpen: true },
        { ...none, id: paused, state: 'PAUSED', pointCount: 2, begunCount: 2 },
        { ...none, id: stopped, state: 'STOPPED', pointCount: 1, begunCount: 1 },
      ]);
      await store.studies.end(stopped, [ended(1)]);
      await store.studies.end(paused, [ended(1)]);
      expect((await store.studies.active()).map(({ id }) => id)).toEqual([running.id, paused]);
    });

    it('changes its state from those that are named only', async () => {
      const { id } = await create();
      const why = { atMs: NOW + 5, message: ODD };
      expect(await store.studies.setState(id, ['PAUSED', 'STOPPED'], 'RUNNING', why)).toBe(false);
      expect(await store.studies.setState(id, [], 'PAUSED', why)).toBe(false);
      expect(await stateOf(id)).toEqual({ state: 'RUNNING', message: null, endedAtMs: null });
      expect(await store.studies.setState(id, ['RUNNING', 'PAUSED'], 'STOPPED', why)).toBe(true);
      store = await store.reopen();
      expect(await stateOf(id)).toEqual({ state: 'STOPPED', endedAtMs: NOW + 5, message: ODD });
      expect(await store.studies.find(id)).toMatchObject({ runningSinceMs: NOW });
      const none = { atMs: NOW + 9, message: null };
      expect(await store.studies.setState(id, ['STOPPED'], 'RUNNING', none)).toBe(true);
      expect(await stateOf(id)).toEqual({ state: 'RUNNING', message: null, endedAtMs: null });
      expect(await store.studies.find(id)).toMatchObject({ runningSinceMs: NOW + 9 });
      expect(await store.studies.setState(newStudy().id, ['RUNNING'], 'PAUSED', none)).toBe(false);
    });

    it('runs points of a bundle as one, until they are due for tasks of their own', async () => {
      const { id } = await create({ pointCount: 5 });
      const bundles = [1, 1, null, 4, 4];
      const all = bundles.map((bundle, index) => begunPoint([index + 1], { bundle }));
      expect(await store.studies.begin(id, 0, all)).toBe(true);
      store = await store.reopen();
      expect((await points(id)).map(({ bundle }) => bundle)).toEqual(bundles);
      expect((await store.studies.open(id, 100)).map(({ bundle }) => bundle)).toEqual(bundles);
      await store.studies.end(id, [ended(1), ended(4)]);
      await store.studies.unbundle(id, 1);
      await store.studies.unbundle(id, 3);
      expect(await store.studies.find(id)).toMatchObject({ retryCount: 1, state: 'RUNNING' });
      expect(await openNumbers(id)).toEqual([3, 5]);
      expect(await store.studies.due(id, 100)).toEqual([
        { number: 2, tries: 1, variables: [2], bundle: null },
      ]);
      expect((await points(id)).map(({ bundle }) => bundle)).toEqual([1, null, null, 4, 4]);
      await store.studies.end(id, [ended(2), ended(3), ended(5)]);
      expect(await store.studies.finish(id, 1, NOW)).toBe(false);
      expect(await store.studies.beginAgain(id, [2])).toBe(true);
      await store.studies.end(id, [ended(2)]);
      expect(await store.studies.retry(id, ['FINISHED'], NOW)).toBe(5);
      expect((await points(id)).map(({ bundle }) => bundle)).toEqual(bundles.map(() => null));
    });

    it('is counted by its state', async () => {
      const { id } = await create();
      await create();
      await create({ state: 'STOPPED', endedAtMs: NOW });
      expect(await setState(id, 'PAUSED')).toBe(true);
      expect(await store.studies.states()).toEqual({ RUNNING: 1, PAUSED: 1, STOPPED: 1 });
    });

    it('is created once by the key of its creator', async () => {
      const anna = newStudy({ creator: 'anna', key: LONE.toWellFormed().replace('\0', '') });
      const { key } = anna;
      const again = newStudy({ creator: 'anna', key, pointCount: 7 });
      const both = await Promise.all([store.studies.create(anna), store.studies.create(again)]);
      expect([...both].sort()).toEqual([false, true]);
      expect(await store.studies.create(newStudy({ creator: 'anna', key }))).toBe(false);
      store = await store.reopen();
      const id = await store.studies.idByKey('anna', key ?? '');
      expect(id).toBe(both[0] ? anna.id : again.id);
      expect((await store.studies.partWith(id ?? '', 1))?.count).toBe(both[0] ? 4 : 7);
      expect(await store.studies.idByKey('bert', key ?? '')).toBeUndefined();
      expect(await store.studies.idByKey(null, key ?? '')).toBeUndefined();
      const nobody = newStudy({ key });
      expect(await store.studies.create(nobody)).toBe(true);
      expect(await store.studies.create(newStudy({ key }))).toBe(false);
      expect(await store.studies.idByKey(null, key ?? '')).toBe(nobody.id);
      expect(await store.studies.create(newStudy({ creator: 'bert', key }))).toBe(true);
      expect(await store.studies.create(newStudy({ creator: 'anna' }))).toBe(true);
      expect(await store.studies.create(newStudy({ creator: 'anna' }))).toBe(true);
    });

    it('is stopped only as long as it was not resumed, if that is asked for', async () => {
      const { id } = await create();
      const stop = (runningSinceMs: number) =>
        store.studies.setState(id, ['RUNNING'], 'STOPPED', { atMs: NOW + 9, runningSinceMs, message: ODD });
      expect(await stop(NOW - 1)).toBe(false);
      expect(await setState(id, 'PAUSED')).toBe(true);
      const resumed = { atMs: NOW + 2, message: null };
      expect(await store.studies.setState(id, ['PAUSED'], 'RUNNING', resumed)).toBe(true);
      expect(await stop(NOW)).toBe(false);
      expect(await stop(NOW + 2)).toBe(true);
    });

    it('of two changes from the same state makes one', async () => {
      const { id } = await create();
      const none = { atMs: NOW + 6, message: null };
      const pause = () => store.studies.setState(id, ['RUNNING'], 'PAUSED', none);
      expect((await Promise.all([pause(), pause()])).sort()).toEqual([false, true]);
    });
  });

  describe('the webhooks of a study', () => {
    const NOTIFY = { url: 'https://ci.example.org/hooks/a', receiver: 'https://ci.example.org#1' };
    const hook = (name: string, studies: boolean): EndSubscription => ({
      ...{ name, receiver: `https://chat.example.org#${name}`, statuses: ['FINISHED'], studies },
    });
    const [ALL, TASKS] = [hook('all', true), hook('tasks', false)];
    const claim = async ({ receiver }: { readonly receiver: string } = NOTIFY) => {
      const query = { receiver, dueUntilMs: NOW + 100, leaseUntilMs: NOW + 200, limit: 9 };
      return store.webhooks.claim(query);
    };
    /** A study without points that is told of, and finishes. */
    const finished = async (rest: Partial<NewStudy> = {}) => {
      const study = await create({ notify: NOTIFY, pointCount: 0, ...rest });
      expect(await store.studies.finish(study.id, study.retryCount, NOW + 5)).toBe(true);
      return study;
    };

    it('are made with its end, and hold it as it ended with its counts', async () => {
      store.webhooks.subscribe([ALL, TASKS], 100);
      const study = await create({ name: ODD, note: ODD, creator: ODD, notify: NOTIFY, pointCount: 2 });
      expect(await store.webhooks.notifyOfStudy(study.id)).toEqual(NOTIFY);
      expect(await store.webhooks.notifyOfStudy((await create()).id)).toBeNull();
      await begin(study.id, 0, 2);
      await store.studies.end(study.id, [ended(1), ended(2, CRASHED)]);
      expect(await store.studies.finish(study.id, 1, NOW + 5)).toBe(false);
      expect(await store.webhooks.ofStudy(study.id)).toEqual([]);
      expect(await store.studies.finish(study.id, 0, NOW + 5)).toBe(true);
      const [delivery, ...more] = await claim();
      expect(more).toEqual([]);
      const told = { ...recordOf(study), state: 'FINISHED', begunCount: 2, endedAtMs: NOW + 5 };
      expect(delivery).toEqual({
        ...{ ref: { id: expect.any(Number), tries: 1 }, hook: null, ...NOTIFY, toldOfMs: NOW + 5 },
        news: { kind: 'STUDY', study: told, counts: { FINISHED: 1, INFRASTRUCTURE: 1 }, change: 1 },
      });
      expect(await claim(TASKS)).toEqual([]);
      const [configured] = await claim(ALL);
      expect(configured).toMatchObject({ hook: 'all', url: null, news: { study: told } });
      expect((await store.webhooks.ofStudy(study.id)).map(({ hook, state }) => [hook, state])).toEqual([
        [null, 'WAITING'],
        ['all', 'WAITING'],
      ]);
    });

    it('tell of each stop, and of a pause with a reason, and of nothing else', async () => {
      const { id } = await create({ notify: NOTIFY });
      const changes = [
        ['PAUSED', null],
        ['RUNNING', null],
        ['PAUSED', 'by itself'],
        ['STOPPED', null],
        ['RUNNING', null],
        ['STOPPED', 'by a rule'],
      ] as const;
      for (const [at, [to, message]] of changes.entries()) {
        const from = ['RUNNING', 'PAUSED', 'STOPPED'] as const;
        expect(await store.studies.setState(id, from, to, { atMs: NOW + at, message })).toBe(true);
      }
      const why = { atMs: NOW, message: 'never' };
      expect(await store.studies.setState(id, ['PAUSED'], 'STOPPED', why)).toBe(false);
      const told = (await claim()).map(({ news, toldOfMs }) => [
        toldOfMs - NOW,
        ...(news.kind === 'STUDY' ? [news.change, news.study.state, news.study.message] : []),
      ]);
      expect(told).toEqual([
        [2, 1, 'PAUSED', 'by itself'],
        [3, 2, 'STOPPED', null],
        [5, 3, 'STOPPED', 'by a rule'],
      ]);
    });

    it('tell of each end of one that runs again, and show those of the latest', async () => {
      const { id } = await finished();
      const [first] = await claim();
      await store.webhooks.settle([
        { ref: first?.ref ?? { id: 0, tries: 0 }, state: 'DELIVERED', atMs: NOW },
      ]);
      expect(await store.webhooks.ofStudy(id)).toMatchObject([{ state: 'DELIVERED' }]);
      const part = { first: 1, count: 1, plan: { kind: 'LIST', points: [{}] }, key: null } as const;
      expect(await store.studies.extend(id, part, NOW + 8)).toBe(true);
      await begin(id, 0, 1);
      await store.studies.end(id, [ended(1)]);
      expect(await store.studies.finish(id, 0, NOW + 9)).toBe(true);
      expect(await store.webhooks.ofStudy(id)).toMatchObject([{ state: 'WAITING', nextAtMs: NOW + 9 }]);
      expect((await claim()).map(({ news }) => news.kind === 'STUDY' && news.change)).toEqual([2]);
    });

    it('outlive a restart, and the study', async () => {
      const { id } = await finished({ id: systemRuntime.newId() });
      expect(await store.studies.remove(id)).toBe(true);
      store = await store.reopen();
      expect(await store.webhooks.waiting()).toEqual([
        { receiver: NOTIFY.receiver, deliveries: 1, nextAtMs: NOW + 5 },
      ]);
      expect((await claim()).map(({ news }) => news.kind === 'STUDY' && news.study.id)).toEqual([id]);
      expect(await store.webhooks.ofStudy(id)).toEqual([]);
    });

    it('fail at once when too many wait, and are told to watchers otherwise', async () => {
      store.webhooks.subscribe([], 1);
      let told = 0;
      const cease = store.webhooks.watch(() => told++);
      await finished();
      await eventually(() => told === 1);
      cease();
      const { id } = await finished();
      expect(await store.webhooks.ofStudy(id)).toMatchObject([
        { state: 'FAILED', tries: 0, fault: 'too many deliveries waited for this receiver' },
      ]);
      expect(await store.webhooks.takeRefused()).toEqual([{ receiver: NOTIFY.receiver, deliveries: 1 }]);
    });
  });

  describe('the parts of a study', () => {
    const part = (first: number, count: number) => ({
      ...{ first, count },
      plan: { kind: 'LIST' as const, points: [{ steel: `${LONE}${first}` }] },
    });
    const extend = (id: string, added: ReturnType<typeof part>, key: string | null = null) =>
      store.studies.extend(id, { ...added, key }, NOW + 7);

    it('are told by a point that they have', async () => {
      const { id, plan } = await create();
      await create();
      expect(await extend(id, part(5, 2))).toBe(true);
      expect(await extend(id, part(7, 1))).toBe(true);
      store = await store.reopen();
      expect(await store.studies.find(id)).toMatchObject({ pointCount: 7, begunCount: 0 });
      const first = { first: 1, count: 4, plan };
      const found = await Promise.all([1, 4, 5, 6, 7].map((point) => store.studies.partWith(id, point)));
      expect(found).toEqual([first, first, part(5, 2), part(5, 2), part(7, 1)]);
      expect(await store.studies.partWith(newStudy().id, 1)).toBeUndefined();
    });

    it('are added behind the last point only, by one of two calls', async () => {
      const { id } = await create();
      expect(await extend(id, part(4, 1))).toBe(false);
      expect(await extend(id, part(6, 1))).toBe(false);
      const both = await Promise.all([extend(id, part(5, 1)), extend(id, part(5, 1))]);
      expect(both.sort()).toEqual([false, true]);
      expect(await store.studies.find(id)).toMatchObject({ pointCount: 5 });
      expect(await store.studies.partWith(id, 5)).toEqual(part(5, 1));
      expect(await extend(newStudy().id, part(1, 1))).toBe(false);
    });

    it('are told by the key of the request that added them, of which there is one in a study', async () => {
      const [one, two] = [await create(), await create()];
      expect(await extend(one.id, part(5, 2), ODD.replace('\0', ''))).toBe(true);
      expect(await extend(two.id, part(5, 1), ODD.replace('\0', ''))).toBe(true);
      expect(await extend(one.id, part(7, 1))).toBe(true);
      expect(await extend(one.id, part(8, 1))).toBe(true);
      store = await store.reopen();
      expect(await store.studies.partByKey(one.id, ODD.replace('\0', ''))).toEqual(part(5, 2));
      expect(await store.studies.partByKey(two.id, ODD.replace('\0', ''))).toEqual(part(5, 1));
      expect(await store.studies.partByKey(one.id, 'other')).toBeUndefined();
    });

    it('may be none at first', async () => {
      const { id } = await create({ pointCount: 0, isOpen: true });
      expect(await store.studies.partWith(id, 1)).toBeUndefined();
      expect(await extend(id, part(1, 2))).toBe(true);
      expect(await store.studies.partWith(id, 1)).toEqual(part(1, 2));
      expect(await begin(id, 0, 2)).toBe(true);
    });

    it('make a finished study run again, leave a paused one, and are refused to a stopped one', async () => {
      const finished = await endedWith(FINISHED);
      expect(await store.studies.finish(finished, 0, NOW)).toBe(true);
      const [paused, stopped] = [await create(), await create()];
      expect(await setState(paused.id, 'PAUSED')).toBe(true);
      expect(await setState(stopped.id, 'STOPPED', NOW)).toBe(true);
      expect(await extend(finished, part(2, 1))).toBe(true);
      expect(await extend(paused.id, part(5, 1))).toBe(true);
      expect(await extend(stopped.id, part(5, 1))).toBe(false);
      expect(await stateOf(finished)).toEqual({ state: 'RUNNING', message: null, endedAtMs: null });
      expect(await store.studies.find(finished)).toMatchObject({ runningSinceMs: NOW + 7 });
      expect(await store.studies.find(paused.id)).toMatchObject({ runningSinceMs: NOW });
      expect(await stateOf(paused.id)).toMatchObject({ state: 'PAUSED', endedAtMs: null });
      expect(await stateOf(stopped.id)).toMatchObject({ state: 'STOPPED', endedAtMs: NOW });
      expect(await store.studies.partWith(stopped.id, 5)).toMatchObject({ first: 1 });
    });
  });

  it('are found by the content of their files, newest first', async () => {
    const first = await create({ definition: WHOLE_DEFINITION });
    const second = await create({ definition: WHOLE_DEFINITION });
    await create();
    const found = (study: NewStudy) => ({ id: study.id, createdAtMs: NOW });
    expect(await store.studies.withFile(fileOf('script'), 9)).toEqual([found(second), found(first)]);
    expect(await store.studies.withFile(fileOf('more'), 1)).toEqual([found(second)]);
    expect(await store.studies.withFile(fileOf('another'), 9)).toEqual([]);
  });

  it('are told which results are invalid, newest first, until that is taken back', async () => {
    const { newId } = systemRuntime;
    const ofTask: Invalidation = {
      id: newId(),
      of: { kind: 'TASK', taskId: LONE },
      note: null,
      creator: null,
      atMs: NOW,
    };
    const ofBuild: Invalidation = {
      id: newId(),
      of: { kind: 'REVISION', version: '9', revision: ODD },
      note: ODD,
      creator: 'anna',
      atMs: NOW - 1,
    };
    await store.invalidations.add(ofTask);
    await store.invalidations.add(ofBuild);
    store = await store.reopen();
    expect(await store.invalidations.list()).toEqual([ofBuild, ofTask]);
    expect(await store.invalidations.find(ofTask.id)).toEqual(ofTask);
    expect([
      await store.invalidations.remove(ofTask.id),
      await store.invalidations.remove(ofTask.id),
    ]).toEqual([true, false]);
    expect(await store.invalidations.find(ofTask.id)).toBeUndefined();
    expect(await store.invalidations.list()).toEqual([ofBuild]);
  });

  describe('points', () => {
    it('begin with their variables, after those that have begun', async () => {
      const { id } = await create();
      expect(await begin(id, 1, 1)).toBe(false);
      expect(
        await store.studies.begin(id, 0, [
          begunPoint([0.1, LONE]),
          begunPoint([-3e-300, ''], { notReused: ODD }),
        ]),
      ).toBe(true);
      expect(await begin(id, 0, 2)).toBe(false);
      expect(await begin(id, 1, 1)).toBe(false);
      store = await store.reopen();
      expect(await store.studies.find(id)).toMatchObject({ begunCount: 2, pointCount: 4 });
      expect(await begin(id, 2, 2)).toBe(true);
      expect(await points(id)).toEqual([
        { number: 1, tries: 1, variables: [0.1, LONE], bundle: null, notReused: null, end: null },
        { number: 2, tries: 1, variables: [-3e-300, ''], bundle: null, notReused: ODD, end: null },
        { number: 3, tries: 1, variables: [3], bundle: null, notReused: null, end: null },
        { number: 4, tries: 1, variables: [4], bundle: null, notReused: null, end: null },
      ]);
    });

    it('never begin beyond the number of points', async () => {
      const { id } = await create();
      expect(await begin(id, 0, 5)).toBe(false);
      expect(await begin(id, 0, 4)).toBe(true);
      expect(await begin(id, 4, 1)).toBe(false);
      expect(await store.studies.find(id)).toMatchObject({ begunCount: 4 });
      expect(await openNumbers(id)).toEqual([1, 2, 3, 4]);
    });

    it('begin of a study that runs only', async () => {
      for (const state of ['PAUSED', 'STOPPED', 'FINISHED'] as const) {
        const { id } = await create();
        expect(await setState(id, state)).toBe(true);
        expect(await begin(id, 0, 1)).toBe(false);
        expect(await points(id)).toEqual([]);
      }
      expect(await begin(newStudy().id, 0, 1)).toBe(false);
    });

    it('begin by one of two calls at the same time', async () => {
      const { id } = await create();
      expect((await Promise.all([begin(id, 0, 2), begin(id, 0, 3)])).sort()).toEqual([false, true]);
      const { begunCount } = (await store.studies.find(id)) ?? {};
      expect(await openNumbers(id)).toHaveLength(begunCount as number);
    });

    it('that are open are told by number, a few at a time', async () => {
      const id = await begun(12);
      const other = await begun(1);
      await store.studies.end(id, [ended(2), ended(11)]);
      expect(await store.studies.open(id, 3)).toEqual([
        { number: 1, tries: 1, variables: [1], bundle: null },
        { number: 3, tries: 1, variables: [3], bundle: null },
        { number: 4, tries: 1, variables: [4], bundle: null },
      ]);
      expect(await openNumbers(id)).toEqual([1, 3, 4, 5, 6, 7, 8, 9, 10, 12]);
      expect(await openNumbers(other)).toEqual([1]);
    });

    it('end once, by their latest try', async () => {
      const id = await begun(3);
      expect(await store.studies.end(id, [ended(1), ended(2, FINISHED, 2), ended(4), ended(3)])).toEqual([
        ...[true, false, false, true],
      ]);
      expect(await store.studies.end(id, [ended(1, CRASHED), ended(2)])).toEqual([false, true]);
      expect((await points(id)).map(({ end }) => end)).toEqual([FINISHED, FINISHED, FINISHED]);
      expect(await store.studies.retry(id, ['FINISHED'], NOW + 8)).toBe(3);
      expect(await store.studies.end(id, [ended(1), ended(1, CRASHED, 2)])).toEqual([false, false]);
      expect(await store.studies.beginAgain(id, [1, 2])).toBe(true);
      expect(await store.studies.end(id, [ended(1)])).toEqual([false]);
      expect(await store.studies.end(id, [ended(1, CRASHED, 2)])).toEqual([true]);
      expect(await openNumbers(id)).toEqual([2]);
      expect(await store.studies.end(id, [])).toEqual([]);
      expect(await store.studies.end(newStudy().id, [ended(1)])).toEqual([false]);
    });

    it('that have failed since the study was resumed are counted, whatever the clock says', async () => {
      const rule: PointEnd = { ...CRASHED, outcome: 'RULE_FAILED' };
      const solver: PointEnd = { ...CRASHED, outcome: 'SOLVER_FAILED' };
      const canceled: PointEnd = { ...CRASHED, outcome: 'CANCELED' };
      const id = await endedWith(FINISHED, CRASHED, rule, solver, canceled);
      await endedWith(CRASHED);
      const failed = () => store.studies.failedSinceResume(id);
      expect(await failed()).toBe(3);
      const why = { atMs: NOW - 9, message: null };
      await store.studies.setState(id, ['RUNNING'], 'STOPPED', why);
      expect(await failed()).toBe(3);
      await store.studies.setState(id, ['STOPPED'], 'RUNNING', why);
      expect(await failed()).toBe(0);
      // Those that are tried again fail anew, as points do that begin.
      await store.studies.retry(id, ['SOLVER_FAILED', 'RULE_FAILED'], NOW);
      await store.studies.beginAgain(id, [3, 4]);
      await store.studies.end(id, [ended(3, { ...rule, endedAtMs: NOW - 20 }, 2), ended(4, solver, 2)]);
      expect(await failed()).toBe(2);
      expect(await store.studies.failedSinceResume(newStudy().id)).toBe(0);
    });

    it('that have failed before a finished study runs again are counted no more', async () => {
      const { id } = await create({ pointCount: 2 });
      const reused: BegunPoint = begunPoint([1], {
        end: { ...CRASHED, outcome: 'RULE_FAILED', source: 'earlier' },
      });
      await store.studies.begin(id, 0, [reused, reused]);
      expect(await store.studies.failedSinceResume(id)).toBe(2);
      expect(await store.studies.finish(id, 0, NOW + 5)).toBe(true);
      expect(await store.studies.retry(id, ['CANCELED'], NOW)).toBe(0);
      expect(await store.studies.failedSinceResume(id)).toBe(2);
      await store.studies.extend(id, { first: 3, count: 1, plan: { kind: 'OPEN' }, key: null }, NOW);
      expect(await store.studies.failedSinceResume(id)).toBe(0);
      await store.studies.begin(id, 2, [reused]);
      expect(await store.studies.failedSinceResume(id)).toBe(1);
    });

    it('that are named twice in a call end by the first that fits', async () => {
      const id = await begun(1);
      const all = [ended(1, FINISHED, 2), ended(1, CRASHED), ended(1)];
      expect(await store.studies.end(id, all)).toEqual([false, true, false]);
      expect((await points(id)).map(({ end }) => end)).toEqual([CRASHED]);
    });

    it('keep all values and texts of their end', async () => {
      const end: PointEnd = {
        outcome: 'RULE_FAILED',
        cause: null,
        message: ODD,
        values: [
          ...[0.1, 5e-324, -1e308, 0, Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY].map(
            (value) => ({ kind: 'NUMBER' as const, value }),
          ),
          ...['', 'NaN', '7', 'null', LONE].map((value) => ({ kind: 'TEXT' as const, value })),
          { kind: 'MISSING', reason: LONE },
          { kind: 'MISSING', reason: '' },
        ],
        source: null,
        startedAtMs: null,
        endedAtMs: NOW,
      };
      const id = await begun(2);
      expect(await store.studies.end(id, [ended(1, CRASHED), ended(2, end)])).toEqual([true, true]);
      store = await store.reopen();
      expect(await points(id)).toEqual([
        { number: 1, tries: 1, variables: [1], bundle: null, notReused: null, end: CRASHED },
        { number: 2, tries: 1, variables: [2], bundle: null, notReused: null, end },
      ]);
    });

    it('are counted by outcome', async () => {
      const id = await begun(6);
      await endedWith(CRASHED);
      expect(await store.studies.counts(id)).toEqual({ OPEN: 6 });
      const failed = { ...CRASHED, outcome: 'SOLVER_FAILED', cause: null } as const;
      await store.studies.end(id, [ended(1), ended(2), ended(3, CRASHED), ended(6, failed)]);
      const counts = { OPEN: 2, FINISHED: 2, INFRASTRUCTURE: 1, SOLVER_FAILED: 1 };
      expect(await store.studies.counts(id)).toEqual(counts);
      expect(await store.studies.counts(newStudy().id)).toEqual({});
    });

    it('that reuse a result begin with their end, and get a task of their own when they are tried again', async () => {
      const { id } = await create();
      const reused: PointEnd = {
        ...FINISHED,
        outcome: 'REUSED',
        values: [{ kind: 'NUMBER', value: Number.NaN }],
        source: ODD,
        startedAtMs: null,
      };
      const three = [begunPoint([1], { end: reused }), begunPoint([2], { notReused: ODD }), begunPoint([3])];
      expect(await store.studies.begin(id, 0, three)).toBe(true);
      expect(await openNumbers(id)).toEqual([2, 3]);
      expect(await store.studies.counts(id)).toEqual({ REUSED: 1, OPEN: 2 });
      expect(await store.studies.end(id, [ended(1), ended(2)])).toEqual([false, true]);
      store = await store.reopen();
      expect(await points(id)).toEqual([
        { number: 1, tries: 1, variables: [1], bundle: null, notReused: null, end: reused },
        { number: 2, tries: 1, variables: [2], bundle: null, notReused: ODD, end: FINISHED },
        { number: 3, tries: 1, variables: [3], bundle: null, notReused: null, end: null },
      ]);
      expect(await store.studies.retry(id, ['REUSED', 'FINISHED'], NOW + 8)).toBe(2);
      const cleared = { tries: 2, notReused: null, end: null };
      expect((await points(id)).slice(0, 2)).toMatchObject([cleared, cleared]);
      await store.studies.beginAgain(id, [1, 2]);
      await store.studies.end(id, [ended(1, FINISHED, 2)]);
      expect((await points(id))[0]?.end).toEqual(FINISHED);
    });

    it('are listed by outcome, after a number, a few at a time', async () => {
      const id = await begun(12);
      await store.studies.end(id, [ended(2), ended(3, CRASHED), ended(10), ended(11, CRASHED)]);
      const list = async (query: Partial<Parameters<typeof store.studies.points>[1]>) =>
        numbersOf(await store.studies.points(id, { after: 0, limit: 100, outcomes: [], ...query }));
      expect(await list({ after: 8 })).toEqual([9, 10, 11, 12]);
      expect(await list({ after: 8, limit: 2 })).toEqual([9, 10]);
      expect(await list({ after: 12 })).toEqual([]);
      expect(await list({ outcomes: ['FINISHED'] })).toEqual([2, 10]);
      expect(await list({ outcomes: ['FINISHED', 'INFRASTRUCTURE'], after: 2, limit: 2 })).toEqual([3, 10]);
      expect(await list({ outcomes: ['OPEN', 'INFRASTRUCTURE'], after: 8 })).toEqual([9, 11, 12]);
      expect(await list({ outcomes: ['OPEN'], limit: 3 })).toEqual([1, 4, 5]);
      expect(await list({ outcomes: ['CANCELED'] })).toEqual([]);
    });
  });

  describe('another try', () => {
    it('makes points with some outcomes due, without their values, until it begins', async () => {
      const read = { ...FINISHED, values: [{ kind: 'NUMBER' as const, value: 7 }] };
      const rules = { ...read, outcome: 'RULE_FAILED', message: 'no' } as const;
      const id = await begun(4);
      await store.studies.end(id, [ended(1, read), ended(2, rules), ended(3, CRASHED)]);
      expect(await store.studies.retry(id, ['RULE_FAILED', 'INFRASTRUCTURE', 'CANCELED'], NOW + 8)).toBe(2);
      store = await store.reopen();
      expect(await points(id)).toEqual([
        { number: 1, tries: 1, variables: [1], bundle: null, notReused: null, end: read },
        { number: 2, tries: 2, variables: [2], bundle: null, notReused: null, end: null },
        { number: 3, tries: 2, variables: [3], bundle: null, notReused: null, end: null },
        { number: 4, tries: 1, variables: [4], bundle: null, notReused: null, end: null },
      ]);
      expect(await stateOf(id)).toMatchObject({ state: 'RUNNING' });
      expect(await store.studies.counts(id)).toEqual({ FINISHED: 1, DUE: 2, OPEN: 1 });
      expect([await openNumbers(id), numbersOf(await store.studies.due(id, 9))]).toEqual([[4], [2, 3]]);
      expect(await store.studies.due(id, 1)).toEqual([{ number: 2, tries: 2, variables: [2], bundle: null }]);
      expect(await store.studies.beginAgain(id, [2])).toBe(true);
      expect(await store.studies.beginAgain(id, [2, 3])).toBe(false);
      expect([await openNumbers(id), numbersOf(await store.studies.due(id, 9))]).toEqual([[2, 3, 4], []]);
      await store.studies.end(id, [ended(2, FINISHED, 2)]);
      expect((await points(id))[1]?.end).toEqual(FINISHED);
    });

    it('begins while the study runs only, and keeps it from its end', async () => {
      const id = await endedWith(CRASHED);
      await setState(id, 'PAUSED');
      expect(await store.studies.retry(id, ['INFRASTRUCTURE'], NOW + 8)).toBe(1);
      expect(await store.studies.beginAgain(id, [1])).toBe(false);
      await setState(id, 'RUNNING');
      expect(await store.studies.finish(id, 1, NOW)).toBe(false);
      expect(await store.studies.beginAgain(id, [1])).toBe(true);
      await store.studies.end(id, [ended(1, FINISHED, 2)]);
      expect(await store.studies.finish(id, 0, NOW)).toBe(false);
      expect(await store.studies.finish(id, 1, NOW)).toBe(true);
      expect(await store.studies.retry(id, ['CANCELED'], NOW + 8)).toBe(0);
      expect(await stateOf(id)).toMatchObject({ state: 'FINISHED', endedAtMs: NOW });
    });

    it('is made due among very many, each once', async () => {
      const pointCount = 2001;
      const { id } = await create({ pointCount });
      const failed = Array.from({ length: pointCount }, (_, at) => begunPoint([at + 1], { end: CRASHED }));
      expect(await store.studies.begin(id, 0, failed)).toBe(true);
      expect(await store.studies.finish(id, 0, NOW)).toBe(true);
      expect(await store.studies.retry(id, ['INFRASTRUCTURE'], NOW + 8)).toBe(pointCount);
      expect(await store.studies.counts(id)).toEqual({ DUE: pointCount });
      const { state, retryCount = 0 } = (await store.studies.record(id)) ?? {};
      expect(state).toBe('RUNNING');
      expect(await store.studies.finish(id, retryCount, NOW)).toBe(false);
      expect(await store.studies.retry(id, ['INFRASTRUCTURE'], NOW + 8)).toBe(0);
      expect((await points(id)).every(({ tries, end }) => tries === 2 && end === null)).toBe(true);
    });

    it('makes a finished study run again, and leaves one that is paused or stopped', async () => {
      const [finished, paused, stopped] = [
        await endedWith(CRASHED, FINISHED),
        await endedWith(CRASHED),
        await endedWith(CRASHED),
      ];
      expect(await store.studies.finish(finished, 0, NOW)).toBe(true);
      expect(await setState(paused, 'PAUSED')).toBe(true);
      const why = { atMs: NOW, message: 'enough' };
      expect(await store.studies.setState(stopped, ['RUNNING'], 'STOPPED', why)).toBe(true);
      const retry = (id: string) => store.studies.retry(id, ['INFRASTRUCTURE'], NOW + 8);
      expect([await retry(finished), await retry(paused), await retry(stopped)]).toEqual([1, 1, 1]);
      expect(await stateOf(finished)).toEqual({ state: 'RUNNING', message: null, endedAtMs: null });
      expect(await stateOf(paused)).toEqual({ state: 'PAUSED', message: null, endedAtMs: null });
      expect(await stateOf(stopped)).toEqual({ state: 'STOPPED', endedAtMs: NOW, message: 'enough' });
      expect(await points(stopped)).toMatchObject([{ tries: 2, end: null }]);
      // No task of it is left.
      expect(await store.studies.remove(stopped)).toBe(true);
      expect(await retry(newStudy().id)).toBe(0);
    });
  });

  describe('the end of a study', () => {
    const finish = (id: string) => store.studies.finish(id, 0, NOW + 9);

    it('comes when all points have begun and ended', async () => {
      const { id } = await create({ pointCount: 2 });
      expect(await finish(id)).toBe(false);
      await begin(id, 0, 1);
      await store.studies.end(id, [ended(1)]);
      expect(await finish(id)).toBe(false);
      await begin(id, 1, 1);
      expect(await finish(id)).toBe(false);
      expect(await stateOf(id)).toMatchObject({ state: 'RUNNING', endedAtMs: null });
      await store.studies.end(id, [ended(2, CRASHED)]);
      expect(await finish(id)).toBe(true);
      expect(await finish(id)).toBe(false);
      store = await store.reopen();
      expect(await stateOf(id)).toEqual({ state: 'FINISHED', message: null, endedAtMs: NOW + 9 });
      expect(await finish(newStudy().id)).toBe(false);
    });

    it('comes while it runs only, and never of one that is open', async () => {
      const [paused, stopped] = [await endedWith(FINISHED), await endedWith(FINISHED)];
      await setState(paused, 'PAUSED');
      await setState(stopped, 'STOPPED', NOW);
      const { id } = await create({ pointCount: 0, isOpen: true });
      expect([await finish(paused), await finish(stopped), await finish(id)]).toEqual([false, false, false]);
      expect(await stateOf(stopped)).toMatchObject({ state: 'STOPPED', endedAtMs: NOW });
    });

    it('is told to those who ask for what ended before a time, oldest first, once all its points have', async () => {
      const stop = async (id: string, endedAtMs: number) => {
        expect(await setState(id, 'STOPPED', endedAtMs)).toBe(true);
        return id;
      };
      const late = await stop((await create()).id, 300);
      const early = await stop((await create()).id, 100);
      const finished = await endedWith(FINISHED);
      expect(await store.studies.finish(finished, 0, 200)).toBe(true);
      const busy = await stop(await begun(1), 50);
      await create();
      const endedBefore = (timeMs: number, limit = 10) => store.studies.endedBefore(timeMs, limit);
      expect(await endedBefore(100)).toEqual([]);
      expect(await endedBefore(300)).toEqual([early, finished]);
      expect(await endedBefore(301)).toEqual([early, finished, late]);
      expect(await endedBefore(301, 1)).toEqual([early]);
      await store.studies.end(busy, [ended(1)]);
      expect(await endedBefore(301, 2)).toEqual([busy, early]);
    });
  });

  describe('the removal of a study', () => {
    it('waits until it is stopped or finished, and has no open point', async () => {
      const [running, paused] = [await endedWith(FINISHED), await endedWith(FINISHED)];
      await setState(paused, 'PAUSED');
      const busy = await begun(1);
      await setState(busy, 'STOPPED', NOW);
      for (const id of [running, paused, busy]) {
        expect(await store.studies.remove(id)).toBe(false);
        expect(await points(id)).toHaveLength(1);
      }
      await store.studies.end(busy, [ended(1)]);
      expect(await store.studies.remove(busy)).toBe(true);
      expect(await store.studies.finish(running, 0, NOW)).toBe(true);
      expect(await store.studies.remove(running)).toBe(true);
      expect(await store.studies.remove(running)).toBe(false);
      store = await store.reopen();
      const { studies } = await store.studies.list({ name: null, after: null, limit: 9 });
      expect(studies.map(({ id }) => id)).toEqual([paused]);
    });

    it('leaves nothing of it, and everything of others', async () => {
      const [id, other] = [await endedWith(FINISHED, CRASHED), await endedWith(FINISHED)];
      for (const each of [id, other]) expect(await store.studies.finish(each, 0, NOW)).toBe(true);
      expect(await store.studies.remove(id)).toBe(true);
      expect(await store.studies.find(id)).toBeUndefined();
      expect([await store.studies.partWith(id, 1), await points(id), await store.studies.counts(id)]).toEqual(
        [...[undefined, [], {}]],
      );
      expect(await store.studies.endedBefore(NOW + 1, 9)).toEqual([other]);
      expect(await store.studies.partWith(other, 1)).toBeDefined();
      expect(await store.studies.counts(other)).toEqual({ FINISHED: 1 });
      await create({ id });
      expect([await points(id), await store.studies.counts(id)]).toEqual([[], {}]);
    });
  });

  describe('a blob of the job of a study', () => {
    const [model, script, more] = ['model', 'script', 'more'].map((text) => fileOf(text).digest);
    const all = [model, script, more] as string[];
    const referenced = async () => [
      await store.inlineBlobs.referenced(all, false),
      await store.inlineBlobs.referenced(all, true),
      new Set(await store.inlineBlobs.referencedEncrypted()),
    ];

    it('is referenced in its stored form until the study is removed, and then dropped', async () => {
      const { id } = await create({ definition: WHOLE_DEFINITION });
      await setState(id, 'STOPPED', NOW);
      store = await store.reopen();
      expect(await referenced()).toEqual([new Set([model, more]), new Set([script]), new Set([script])]);
      expect(await store.inlineBlobs.dropped(0, 10)).toEqual([]);
      expect(await store.studies.remove(id)).toBe(true);
      expect(await referenced()).toEqual([new Set(), new Set(), new Set()]);
      const dropped = await store.inlineBlobs.dropped(0, 10);
      const forms = dropped.map(({ digest, encrypted }) => ({ digest, encrypted }));
      const expected = all.map((digest) => ({ digest, encrypted: digest === script }));
      const byDigest = (one: { digest: string }, two: { digest: string }) =>
        one.digest < two.digest ? -1 : 1;
      expect(forms.sort(byDigest)).toEqual(expected.sort(byDigest));
    });

    it('stays while another study refers to it', async () => {
      const ids = [
        (await create({ definition: WHOLE_DEFINITION })).id,
        (await create({ definition: WHOLE_DEFINITION })).id,
      ] as const;
      for (const id of ids) await setState(id, 'STOPPED', NOW);
      await store.inlineBlobs.put(model as string, Buffer.from('model'), NOW);
      const content = { digest: model as string, encrypted: false };
      const remove = () => store.inlineBlobs.removeUnreferenced([content], () => false);
      await store.studies.remove(ids[0]);
      expect(await remove()).toEqual({ unreferenced: [], held: [] });
      expect(await store.inlineBlobs.find(content.digest)).toBeDefined();
      await store.studies.remove(ids[1]);
      expect(await remove()).toEqual({ unreferenced: [content], held: [] });
      expect(await store.inlineBlobs.find(content.digest)).toBeUndefined();
    });
  });
}
