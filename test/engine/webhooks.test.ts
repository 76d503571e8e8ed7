/** Deliveries of webhooks over hours: the engine with time that the test drives, and receivers without sockets. */
import type {
  SendOutcome,
  WebhookMessage,
  WebhookSender,
} from '@workbench-hub/hub/core/ports/webhook-sender';
import type { ConfiguredWebhook, WebhookSettings } from '@workbench-hub/hub/engine/webhooks/webhook-settings';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { createTask, type RunningEngine, startEngine } from '../support/engine/running-engine.js';

const RECEIVER = 'https://ci.example.org';
const OTHER = 'https://other.example.org';
const HOUR_MS = 3_600_000;
const NOWHERE = [{ type: 'VERSION' as const, value: 'none' }];
const DELIVERED: SendOutcome = { kind: 'DELIVERED' };
const REFUSED = { kind: 'FAILED', fault: 'responded with 400', isFinal: false, retryAfterMs: 0 } as const;
const DISLIKED: SendOutcome = { ...REFUSED, receiver: 'UP' };
const DOWN: SendOutcome = { ...REFUSED, fault: 'responded with 503', receiver: 'DOWN' };

const SETTINGS: WebhookSettings = {
  webhooks: [],
  notify: [new URL(RECEIVER), new URL(OTHER)],
  maxWaiting: 1000,
  leaseMs: 25_000,
  retryForMs: 24 * HOUR_MS,
  keepForMs: 7 * 24 * HOUR_MS,
};

class Receivers implements WebhookSender {
  readonly heard: (WebhookMessage & { readonly atMs: number })[] = [];
  outcome: (message: WebhookMessage) => SendOutcome | Promise<SendOutcome> = () => DELIVERED;
  nowMs = () => 0;

  async send(message: WebhookMessage): Promise<SendOutcome> {
    this.heard.push({ ...message, atMs: this.nowMs() });
    return this.outcome(message);
  }

  close(): void {
    // Nothing is open.
  }
}

let engine: RunningEngine;
let receivers: Receivers;

async function start(settings: Partial<WebhookSettings> = {}): Promise<void> {
  engine = await startEngine({ webhooks: { sender: receivers, settings: { ...SETTINGS, ...settings } } });
  receivers.nowMs = () => engine.runtime.clock.monotonicMs();
}

beforeEach(() => {
  receivers = new Receivers();
  onTestFinished(() => engine.close());
});

/** A task that is canceled at once. */
async function ended(notify: string | null = RECEIVER): Promise<string> {
  const id = await createTask(engine, { classifiers: NOWHERE, ...(notify === null ? {} : { notify }) });
  await engine.tasks.cancel(id, false, { username: 'anna', roles: ['ADMIN'], by: 'OPEN_HUB' });
  await engine.runtime.advance(0);
  return id;
}

const deliveryOf = async (id: string) => (await engine.webhooks?.ofTask(id))?.deliveries[0];

describe('a delivery', () => {
  it('is tried again after growing delays, with the same id, until a receiver takes it', async () => {
    await start();
    receivers.outcome = () => (receivers.heard.length > 4 ? DELIVERED : DISLIKED);
    const id = await ended();
    await engine.runtime.advance(HOUR_MS);
    const seconds = receivers.heard.map(({ atMs }) => atMs / 1000);
    expect(seconds).toEqual([0, 5, 35, 155, 755]);
    expect(new Set(receivers.heard.map((message) => message.id))).toEqual(new Set([`${id}.notify`]));
    expect(new Set(receivers.heard.map(({ timestampS }) => timestampS)).size).toBe(5);
    expect(await deliveryOf(id)).toMatchObject({ state: 'DELIVERED', tries: 5, fault: null });
  });

  it('is given up when its time is over', async () => {
    await start({ retryForMs: HOUR_MS });
    receivers.outcome = () => DISLIKED;
    const id = await ended();
    await engine.runtime.advance(HOUR_MS - 60_000);
    expect(await deliveryOf(id)).toMatchObject({ state: 'WAITING' });
    await engine.runtime.advance(60_000);
    expect(await deliveryOf(id)).toMatchObject({ state: 'FAILED', fault: 'responded with 400' });
    const tries = receivers.heard.length;
    await engine.runtime.advance(HOUR_MS);
    expect(receivers.heard).toHaveLength(tries);
    expect(engine.log.some(({ msg }) => msg === 'a webhook was given up')).toBe(true);
  });

  it('is not given up when the clock jumps', async () => {
    await start();
    receivers.outcome = () => DISLIKED;
    const id = await ended();
    engine.runtime.setClock(30 * 24 * HOUR_MS);
    await engine.runtime.advance(60_000);
    expect(await deliveryOf(id)).toMatchObject({ state: 'WAITING' });
    receivers.outcome = () => DELIVERED;
    await engine.runtime.advance(30 * 60_000);
    expect(await deliveryOf(id)).toMatchObject({ state: 'DELIVERED' });
  });

  it('is tried again within a minute when the clock was set back by hours', async () => {
    await start();
    receivers.outcome = () => DISLIKED;
    const first = await ended();
    engine.runtime.setClock(1000);
    const second = await ended();
    receivers.outcome = () => DELIVERED;
    engine.runtime.setClock(-10 * HOUR_MS);
    await engine.runtime.advance(60_000);
    expect(receivers.heard).toHaveLength(4);
    for (const id of [first, second])
      expect(await deliveryOf(id)).toMatchObject({ state: 'DELIVERED', tries: 2 });
  });

  it('is sent again after the end of its lease, when its outcome was lost', async () => {
    await start();
    const { webhooks } = engine.store;
    const { settle } = webhooks;
    Object.assign(webhooks, { settle: () => Promise.reject(new Error('the disk is full')) });
    const id = await ended();
    expect(receivers.heard).toHaveLength(1);
    Object.assign(webhooks, { settle });
    await engine.runtime.advance(SETTINGS.leaseMs - 1);
    expect(receivers.heard).toHaveLength(1);
    await engine.runtime.advance(1);
    expect(receivers.heard).toHaveLength(2);
    expect(await deliveryOf(id)).toMatchObject({ state: 'DELIVERED', tries: 2 });
  });

  it('is forgotten after its time', async () => {
    await start();
    const id = await ended();
    engine.runtime.skip(6 * 24 * HOUR_MS);
    await engine.sweep();
    expect(await deliveryOf(id)).toMatchObject({ state: 'DELIVERED' });
    engine.runtime.skip(2 * 24 * HOUR_MS);
    await engine.sweep();
    expect(await deliveryOf(id)).toBeUndefined();
  });

  it('of an address that is no longer allowed is not sent', async () => {
    const allowed = [new URL(RECEIVER)];
    await start({ notify: allowed });
    receivers.outcome = () => DISLIKED;
    const id = await ended();
    // The settings of the engine are those of this list.
    allowed.splice(0, allowed.length, new URL(OTHER));
    await engine.runtime.advance(60_000);
    expect(receivers.heard).toHaveLength(1);
    expect(await deliveryOf(id)).toMatchObject({
      state: 'WAITING',
      fault: 'webhooks.notify does not allow this address any more',
    });
  });

  it('of a webhook that the configuration does not have is not given up: another hub may have it', async () => {
    const hook = { name: 'ci', receiver: RECEIVER, statuses: ['CANCELED'] as const, studies: false };
    const webhooks: ConfiguredWebhook[] = [];
    await start({ webhooks });
    engine.store.webhooks.subscribe([hook], SETTINGS.maxWaiting);
    const id = await ended(null);
    expect(await deliveryOf(id)).toMatchObject({
      ...{ hook: 'ci', state: 'WAITING', tries: 1 },
      fault: 'the configuration has no such webhook',
    });
    // The settings of the engine are those of this list.
    webhooks.push({ ...hook, url: `${RECEIVER}/a` });
    await engine.runtime.advance(5000);
    expect(await deliveryOf(id)).toMatchObject({ state: 'DELIVERED', tries: 2 });
  });
});

describe('a receiver that is down', () => {
  it('is tried by one message at a time, at least once a minute, and gets all when it is up', async () => {
    await start();
    receivers.outcome = ({ url }) => (url.startsWith(OTHER) ? DELIVERED : DOWN);
    const ids: string[] = [];
    for (let count = 0; count < 30; count++) ids.push(await ended());
    await engine.runtime.advance(10 * 60_000);
    expect(receivers.heard.length).toBeGreaterThan(10);
    expect(receivers.heard.length).toBeLessThan(25);
    const other = await ended(`${OTHER}/a`);
    expect(await deliveryOf(other)).toMatchObject({ state: 'DELIVERED' });
    receivers.outcome = () => DELIVERED;
    await engine.runtime.advance(HOUR_MS);
    for (const id of ids) expect(await deliveryOf(id)).toMatchObject({ state: 'DELIVERED' });
    const told = engine.log.map(({ msg }) => msg);
    expect(told.filter((msg) => /takes none at present/.test(msg))).toHaveLength(1);
    expect(told.filter((msg) => msg === 'the receiver of webhooks responds again')).toHaveLength(1);
    expect(await engine.webhooks?.waiting()).toEqual([]);
  });

  it('does not flood the log when too many wait', async () => {
    await start({ maxWaiting: 2 });
    receivers.outcome = () => DOWN;
    for (let count = 0; count < 10; count++) await ended();
    await engine.runtime.advance(3 * 60_000);
    const told = engine.log.filter(({ msg }) => String(msg).startsWith('webhooks were given up at once'));
    expect(told.map(({ deliveries }) => Number(deliveries)).reduce((sum, count) => sum + count)).toBe(8);
    expect(told.length).toBeLessThanOrEqual(3);
  });

  it('holds up no other address of its origin, whatever it asks for', async () => {
    await start();
    receivers.outcome = ({ url }) =>
      url.endsWith('/a') ? ({ ...DOWN, retryAfterMs: HOUR_MS } as SendOutcome) : DELIVERED;
    const [stuck] = [await ended(`${RECEIVER}/a`), await ended(`${RECEIVER}/a`)];
    const id = await ended(`${RECEIVER}/b`);
    expect(await deliveryOf(id)).toMatchObject({ state: 'DELIVERED', tries: 1 });
    expect(receivers.heard.filter(({ url }) => url.endsWith('/a'))).toHaveLength(1);
    await engine.runtime.advance(30 * 60_000);
    expect(await deliveryOf(stuck)).toMatchObject({ state: 'WAITING' });
    expect(receivers.heard.filter(({ url }) => url.endsWith('/a'))).toHaveLength(1);
  });

  it('gets what it asks for: nothing for a while', async () => {
    await start();
    receivers.outcome = () => ({ ...DOWN, retryAfterMs: 600_000 }) as SendOutcome;
    await ended();
    await ended();
    await engine.runtime.advance(599_000);
    expect(receivers.heard).toHaveLength(1);
    await engine.runtime.advance(2000);
    expect(receivers.heard).toHaveLength(2);
  });

  it('loses what is too old, also what was not tried', async () => {
    await start({ retryForMs: 2 * HOUR_MS });
    receivers.outcome = () => DOWN;
    const ids: string[] = [];
    for (let count = 0; count < 300; count++) ids.push(await endedQuickly());
    await engine.runtime.advance(2.1 * HOUR_MS);
    expect(await engine.webhooks?.waiting()).toEqual([]);
    for (const id of [ids[0], ids[299]]) {
      expect(await deliveryOf(id as string)).toMatchObject({ state: 'FAILED', fault: 'responded with 503' });
    }
    expect(receivers.heard.length).toBeLessThan(150);
  });
});

it('nothing runs while nothing is to be delivered', async () => {
  await start();
  await engine.runtime.settle();
  const before = engine.runtime.pendingTimers;
  const id = await createTask(engine, { classifiers: NOWHERE });
  await engine.tasks.cancel(id, false, { username: 'anna', roles: ['ADMIN'], by: 'OPEN_HUB' });
  await engine.runtime.settle();
  // One of the statistics.
  expect(engine.runtime.pendingTimers).toBeLessThanOrEqual(before + 1);
  expect(receivers.heard).toEqual([]);
});

/** The end of a task, without waiting for anything else. */
async function endedQuickly(): Promise<string> {
  const task = await engine.tasks.create({
    name: null,
    creator: null,
    classifiers: NOWHERE,
    timeLimitS: null,
    job: { type: 'SIMULATE_WORK', durationS: 1 },
    notify: RECEIVER,
  });
  await engine.tasks.cancel(task.id, false, { username: 'anna', roles: ['ADMIN'], by: 'OPEN_HUB' });
  return task.id;
}
