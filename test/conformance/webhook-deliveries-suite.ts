/** Deliveries of webhooks, as every store keeps them. */
import type { ClaimedDelivery, WebhookDeliveries } from '@workbench-hub/hub/core/ports/webhook-deliveries';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { eventually } from '../support/eventually.js';
import { newTask, type OpenStore, type StoreUnderTest, startTask, WELL } from './store-under-test.js';

const RECEIVER = 'https://ci.example.org';
const OTHER = 'https://other.example.org';
const NOTIFY = { url: `${RECEIVER}/hooks/a`, receiver: RECEIVER };
const FAILURES = { name: 'failures', receiver: OTHER, statuses: ['FAILED'] as const, studies: false };
const ALL = {
  ...{ name: 'all', receiver: RECEIVER, studies: true },
  statuses: ['FINISHED', 'FAILED', 'CANCELED'] as const,
};
const LATER = Number.MAX_SAFE_INTEGER;

const idOf = ({ news }: ClaimedDelivery) => (news.kind === 'TASK' ? news.task : news.study).id;

export function describeWebhookDeliveries(open: OpenStore): void {
  let store: StoreUnderTest;
  let webhooks: WebhookDeliveries;
  beforeEach(async () => {
    store = await open();
    webhooks = store.webhooks;
  });
  afterEach(() => store.close());

  const reopen = async () => {
    store = await store.reopen();
    webhooks = store.webhooks;
  };
  /** A task that names an address and has been canceled at this time. */
  const ended = async (atMs: number, notify: typeof NOTIFY | null = NOTIFY) => {
    const task = newTask({ notify });
    await store.queue.insert([task]);
    expect(await store.queue.cancel([task.id], ['WAITING'], atMs)).toEqual([true]);
    return task.id;
  };
  const claim = (nowMs: number, { receiver = RECEIVER, leaseUntilMs = nowMs + 1000, limit = 100 } = {}) =>
    webhooks.claim({ receiver, dueUntilMs: nowMs, leaseUntilMs, limit });
  const one = async (nowMs: number): Promise<ClaimedDelivery> => {
    const [claimed, ...more] = await claim(nowMs);
    if (!claimed || more.length > 0) throw new Error('not exactly one delivery');
    return claimed;
  };
  const waitingTimes = async () =>
    (await webhooks.waiting()).map(({ receiver, nextAtMs }) => [receiver, nextAtMs]);

  it('are not made without an address', async () => {
    await ended(5, null);
    expect(await webhooks.waiting()).toEqual([]);
    expect(await webhooks.notifyOf((await startTask(store)).taskId)).toBeNull();
  });

  it('are made with the end of a task, and hold the task as it ended', async () => {
    const task = newTask({ notify: NOTIFY, name: 'run 7', creator: 'anna' });
    const ref = await startTask(store, task);
    expect(await webhooks.notifyOf(task.id)).toEqual(NOTIFY);
    expect(await webhooks.ofTask(task.id)).toEqual([]);
    expect(await webhooks.waiting()).toEqual([]);
    expect(await store.queue.end([{ ref, ending: WELL, endedAtMs: 9 }])).toEqual([true]);
    expect(await webhooks.waiting()).toEqual([{ receiver: RECEIVER, deliveries: 1, nextAtMs: 9 }]);
    const delivery = await one(9);
    expect(delivery).toEqual({
      ref: { id: expect.any(Number), tries: 1 },
      hook: null,
      ...NOTIFY,
      toldOfMs: 9,
      news: { kind: 'TASK', task: await store.archive.find(task.id) },
    });
    expect(delivery.news).toMatchObject({
      task: { name: 'run 7', creator: 'anna', status: 'FINISHED', endedAtMs: 9 },
    });
  });

  it('are made once for each end: not for a requeue, nor for a later report', async () => {
    const task = newTask({ notify: NOTIFY });
    const ref = await startTask(store, task);
    await store.queue.requeue([{ ref, loss: 'CRASH' }]);
    expect(await webhooks.ofTask(task.id)).toEqual([]);
    await store.queue.cancel([task.id], ['WAITING'], 5);
    await store.queue.end([{ ref, ending: WELL, endedAtMs: 9 }]);
    await store.queue.cancel([task.id], ['WAITING', 'RUNNING'], 10);
    expect(await webhooks.ofTask(task.id)).toHaveLength(1);
  });

  it('are made for the webhooks of the configuration, by the status of the end', async () => {
    webhooks.subscribe([ALL, FAILURES], 100);
    const canceled = await ended(5);
    const ref = await startTask(store);
    await store.queue.end([{ ref, ending: { ...WELL, status: 'FAILED' }, endedAtMs: 6 }]);
    const hooks = async (id: string) =>
      (await webhooks.ofTask(id)).map(({ hook, receiver }) => [hook, receiver]);
    expect(await hooks(canceled)).toEqual([
      [null, RECEIVER],
      ['all', RECEIVER],
    ]);
    expect(await hooks(ref.taskId)).toEqual([
      ['all', RECEIVER],
      ['failures', OTHER],
    ]);
    const [claimed] = await claim(9, { receiver: OTHER });
    expect(claimed).toMatchObject({ hook: 'failures', url: null, news: { task: { id: ref.taskId } } });
    expect(
      (await webhooks.waiting()).map(({ receiver, deliveries }) => [receiver, deliveries]).sort(),
    ).toEqual([
      [RECEIVER, 3],
      [OTHER, 1],
    ]);
  });

  it('are claimed when they are due, the earliest first, each by one claim', async () => {
    const ids = [await ended(7), await ended(5), await ended(6), await ended(20)];
    expect((await claim(10, { limit: 2 })).map(idOf)).toEqual([ids[1], ids[2]]);
    expect((await claim(10)).map(idOf)).toEqual([ids[0]]);
    expect(await claim(10)).toEqual([]);
    expect(await waitingTimes()).toEqual([[RECEIVER, 20]]);
    const claims = await Promise.all([claim(30), claim(30), claim(30)]);
    expect(claims.flat()).toHaveLength(1);
  });

  it('wait for each receiver until a time of its own', async () => {
    await ended(5);
    await ended(9, { url: `${OTHER}/hooks/b`, receiver: OTHER });
    const times = async () => Object.fromEntries(await waitingTimes());
    expect(await times()).toEqual({ [RECEIVER]: 5, [OTHER]: 9 });
    await claim(10, { leaseUntilMs: 1000 });
    expect(await times()).toEqual({ [RECEIVER]: 1000, [OTHER]: 9 });
  });

  it('are claimed again when the lease ends, and the former outcome does not count', async () => {
    const id = await ended(5);
    const first = await one(10);
    expect(await claim(1009)).toEqual([]);
    const second = await one(1010);
    expect(second.ref).toEqual({ id: first.ref.id, tries: 2 });
    const delivered = { state: 'DELIVERED', atMs: 1011 } as const;
    expect(await webhooks.settle([{ ref: first.ref, ...delivered }])).toEqual([false]);
    expect(await webhooks.ofTask(id)).toMatchObject([{ state: 'WAITING', tries: 2 }]);
    expect(await webhooks.settle([{ ref: second.ref, ...delivered }])).toEqual([true]);
    expect(await webhooks.settle([{ ref: second.ref, ...delivered }])).toEqual([false]);
    const ends = { state: 'DELIVERED', tries: 2, nextAtMs: null, endedAtMs: 1011, fault: null };
    expect(await webhooks.ofTask(id)).toEqual([{ hook: null, receiver: RECEIVER, ...ends }]);
    expect(await claim(LATER)).toEqual([]);
    expect(await webhooks.waiting()).toEqual([]);
  });

  it('wait again after a failure, until they are given up', async () => {
    const id = await ended(5);
    const settle = async (
      rest: { state: 'WAITING'; nextAtMs: number } | { state: 'FAILED'; atMs: number },
      fault = 'no',
    ) => webhooks.settle([{ ref: (await one(LATER)).ref, fault, ...rest }]);
    await settle({ state: 'WAITING', nextAtMs: 100 }, 'responded with 500');
    expect(await webhooks.ofTask(id)).toMatchObject([
      { state: 'WAITING', nextAtMs: 100, fault: 'responded with 500' },
    ]);
    expect(await claim(99)).toEqual([]);
    const broken = await one(100);
    await webhooks.settle([{ ref: broken.ref, state: 'WAITING', nextAtMs: 101, fault: null }]);
    expect(await webhooks.ofTask(id)).toMatchObject([{ tries: 2, fault: 'responded with 500' }]);
    await settle({ state: 'FAILED', atMs: 200 }, 'responded with 410');
    expect(await webhooks.ofTask(id)).toMatchObject([
      { state: 'FAILED', tries: 3, nextAtMs: null, endedAtMs: 200, fault: 'responded with 410' },
    ]);
    expect(await webhooks.waiting()).toEqual([]);
  });

  it('are given up together, when their tasks ended before a time', async () => {
    webhooks.subscribe([FAILURES], 100);
    const [old, alsoOld, young] = [await ended(5), await ended(6), await ended(7)];
    await one(5);
    expect(await webhooks.giveUp(RECEIVER, 7, 100, 'down')).toBe(2);
    expect(await webhooks.giveUp(OTHER, 7, 100, 'down')).toBe(0);
    const stateOf = async (id: string) =>
      (await webhooks.ofTask(id)).map(({ state, fault }) => [state, fault]);
    expect(await stateOf(old)).toEqual([['FAILED', 'down']]);
    expect(await stateOf(alsoOld)).toEqual([['FAILED', 'down']]);
    expect(await stateOf(young)).toEqual([['WAITING', null]]);
    expect(await webhooks.waiting()).toMatchObject([{ deliveries: 1 }]);
  });

  it('outlive their task and a restart', async () => {
    const id = await ended(5);
    await store.archive.remove([id]);
    expect(await webhooks.notifyOf(id)).toBeNull();
    await reopen();
    expect(await webhooks.waiting()).toEqual([{ receiver: RECEIVER, deliveries: 1, nextAtMs: 5 }]);
    expect((await one(5)).news).toMatchObject({ task: { id, status: 'CANCELED', endedAtMs: 5 } });
    await reopen();
    expect(await waitingTimes()).toEqual([[RECEIVER, 1005]]);
    // The address of a task that was created before is still known.
    const before = newTask({ notify: NOTIFY });
    await store.queue.insert([before]);
    await reopen();
    await store.queue.cancel([before.id], ['WAITING'], 8);
    expect(await webhooks.ofTask(before.id)).toHaveLength(1);
  });

  it('are made when a task ends and is removed at once', async () => {
    const task = newTask({ notify: NOTIFY });
    await store.queue.insert([task]);
    const both = [store.queue.cancel([task.id], ['WAITING'], 5), store.archive.remove([task.id])];
    expect(await Promise.all(both)).toEqual([[true], [true]]);
    expect(idOf(await one(5))).toBe(task.id);
  });

  it('fail at once when too many wait for a receiver', async () => {
    webhooks.subscribe([FAILURES], 2);
    const ids = [await ended(5), await ended(6), await ended(7)];
    expect(await webhooks.takeRefused()).toEqual([{ receiver: RECEIVER, deliveries: 1 }]);
    expect(await webhooks.takeRefused()).toEqual([]);
    expect(await webhooks.ofTask(ids[2] as string)).toEqual([
      {
        hook: null,
        receiver: RECEIVER,
        state: 'FAILED',
        tries: 0,
        nextAtMs: null,
        endedAtMs: 7,
        fault: 'too many deliveries waited for this receiver',
      },
    ]);
    const ref = await startTask(store);
    await store.queue.end([{ ref, ending: { ...WELL, status: 'FAILED' }, endedAtMs: 8 }]);
    expect(await webhooks.ofTask(ref.taskId)).toMatchObject([{ state: 'WAITING' }]);
    const [first] = await claim(5);
    if (first) await webhooks.settle([{ ref: first.ref, state: 'DELIVERED', atMs: 9 }]);
    expect(await webhooks.ofTask(await ended(9))).toMatchObject([{ state: 'WAITING' }]);
    expect(await webhooks.ofTask(await ended(10))).toMatchObject([{ state: 'FAILED' }]);
  });

  it('are forgotten some time after they have ended', async () => {
    const [first, second, waiting] = [await ended(1), await ended(2), await ended(3)];
    const claimed = await claim(2);
    const outcomes = claimed.map(({ ref }, at) => ({ ref, state: 'DELIVERED' as const, atMs: 10 + at }));
    await webhooks.settle(outcomes);
    expect(await webhooks.forget(10)).toBe(0);
    expect(await webhooks.forget(11)).toBe(1);
    const left = await Promise.all([first, second, waiting].map((id) => webhooks.ofTask(id)));
    expect(left.map(({ length }) => length)).toEqual([0, 1, 1]);
    expect(await webhooks.forget(LATER)).toBe(1);
    expect(await webhooks.ofTask(waiting)).toHaveLength(1);
  });

  it('are told to watchers when they are durable, until they cease', async () => {
    let told = 0;
    const cease = webhooks.watch(() => told++);
    await store.queue.insert([newTask()]);
    await startTask(store);
    expect(told).toBe(0);
    await ended(5);
    await eventually(() => told === 1);
    cease();
    await ended(6);
    expect(await claim(6)).toHaveLength(2);
    expect(told).toBe(1);
  });
}
