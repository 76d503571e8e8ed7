import { beforeEach, describe, expect, it } from 'vitest';
import type { Database } from '../connection/pool.js';
import type { LaneWrite } from '../lanes/lane-statements.js';
import type { Lanes } from '../lanes/lanes.js';
import { postgresWebhookDeliveries } from './webhook-deliveries.js';
import { WebhookOutbox } from './webhook-outbox.js';

const RECEIVER = 'https://ci.example.org';
const DELIVERED = { ref: { id: 1, tries: 1 }, state: 'DELIVERED', atMs: 5 } as const;

let outbox: WebhookOutbox;
let webhooks: ReturnType<typeof postgresWebhookDeliveries>;
/** Number of deliveries that wait in the database, as the next count finds it. */
let stored: number;
/** Give the count, and tell of the end of one delivery. */
let count: () => void;
let tell: () => void;

beforeEach(() => {
  outbox = new WebhookOutbox([[RECEIVER, 2]]);
  stored = 2;
  const db = {
    rows: () =>
      new Promise((resolve) => {
        const rows = stored > 0 ? [{ receiver: RECEIVER, deliveries: stored }] : [];
        count = () => resolve(rows);
      }),
  } as unknown as Database;
  const write = (
    { values, results }: LaneWrite<unknown, unknown>,
    call: unknown,
    written?: (result: unknown) => void,
  ) => {
    void values([call]);
    return new Promise((resolve) => {
      tell = () => {
        const isGivenUp = written !== undefined;
        const [result] = results([call], isGivenUp ? 1 : { done: [1], ended: [[RECEIVER, 1]] }, []);
        written?.(result);
        resolve(result);
      };
    });
  };
  webhooks = postgresWebhookDeliveries(db, { side: { write } } as unknown as Lanes, outbox);
});

const waiting = () => outbox.counts.waitingFor(RECEIVER);

describe('a count of the deliveries that wait', () => {
  it('loses none that is made while it is read', async () => {
    stored = 0;
    const refreshed = webhooks.refresh();
    outbox.made([[RECEIVER, 1, 0]]);
    count();
    await refreshed;
    expect(waiting()).toBe(1);
    outbox.made([[RECEIVER, 1, 0]]);
    expect(waiting()).toBe(2);
  });

  it.each([
    ['delivered', () => webhooks.settle([DELIVERED])],
    ['given up', () => webhooks.giveUp(RECEIVER, 9, 9, 'down')],
  ])('leaves one out that was %s before, and is told afterwards, once', async (_, end) => {
    const ended = end();
    stored = 1;
    const refreshed = webhooks.refresh();
    count();
    await refreshed;
    tell();
    await ended;
    expect(waiting()).toBe(1);
    const later = end();
    tell();
    await later;
    expect(waiting()).toBe(0);
  });

  it('wakes those who watch, and takes the place of what is known', async () => {
    let woken = 0;
    webhooks.watch(() => woken++);
    stored = 7;
    const refreshed = webhooks.refresh();
    count();
    await refreshed;
    expect([waiting(), woken]).toEqual([7, 1]);
  });
});
