import { Readable } from 'node:stream';
import { manualRuntime } from '@workbench-hub/shared/runtime/manual-runtime';
import { beforeEach, expect, it } from 'vitest';
import type { BlobStore } from '../../core/ports/blobs.js';
import { SentBlobs } from './sent-blobs.js';

const FILE = { digest: 'a'.repeat(64), sizeBytes: 3 };
const OTHER = { digest: 'b'.repeat(64), sizeBytes: 3 };
const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

/** Ends of the holds, in order. */
let ended: string[];
/** Settles when the blobs that arrive are complete. */
let received: Promise<unknown>;
let runtime: ReturnType<typeof manualRuntime>;
let sent: SentBlobs;

beforeEach(() => {
  ended = [];
  received = Promise.resolve();
  runtime = manualRuntime();
  let holds = 0;
  const files: Pick<BlobStore, 'hold' | 'receive' | 'find'> = {
    hold: () => {
      const name = `hold ${++holds}`;
      return {
        add: () => undefined,
        release: () => void ended.push(`${name} released`),
        abandon: () => void ended.push(`${name} abandoned`),
      };
    },
    receive: () => received as Promise<never>,
    find: async (digest) =>
      (digest === FILE.digest ? { sizeBytes: 3, isEncrypted: false } : undefined) as never,
  };
  sent = new SentBlobs(files as BlobStore, runtime);
});

const receive = (agentId: string | null, file = FILE) => sent.receive(agentId, file, Readable.from([]), 0);

it.each([
  [true, 'released'],
  [false, 'abandoned'],
])(
  'the holds of a report that counts (%s) are %s, those of an agent that was not identified too',
  async (counted, how) => {
    await receive('agent-1');
    await receive(null);
    await receive('agent-2');
    sent.reported('agent-1', [FILE.digest], counted);
    expect(ended).toEqual([`hold 1 ${how}`, `hold 2 ${how}`]);
    sent.reported('agent-1', [FILE.digest], counted);
    expect(ended).toHaveLength(2);
    sent.stop();
    expect(ended.at(-1)).toBe('hold 3 released');
  },
);

it('a hold ends after an hour without a report, and a later one of the same blob takes its place', async () => {
  await receive('agent-1');
  await runtime.advance(HOUR_MS - 1);
  expect(ended).toEqual([]);
  await sent.findForReport('agent-1', FILE.digest);
  expect(ended).toEqual(['hold 1 released']);
  await runtime.advance(HOUR_MS - 1);
  expect(ended).toHaveLength(1);
  await runtime.advance(1);
  expect(ended).toEqual(['hold 1 released', 'hold 2 released']);
});

it('all holds of an agent end an hour after its latest transfer, those of others are not renewed', async () => {
  await receive('agent-1');
  await receive('agent-2');
  await runtime.advance(50 * MINUTE_MS);
  await receive('agent-1', OTHER);
  await runtime.advance(30 * MINUTE_MS);
  expect(ended).toEqual(['hold 2 released']);
  await runtime.advance(30 * MINUTE_MS - 1);
  expect(ended).toHaveLength(1);
  await runtime.advance(1);
  expect(ended.slice(1).sort()).toEqual(['hold 1 released', 'hold 3 released']);
  expect(runtime.pendingTimers).toBe(0);
});

it('the holds of an agent last during its transfers, and for an hour after a broken one', async () => {
  await receive('agent-1');
  let breakOff = (_: Error) => {};
  received = new Promise((_, reject) => {
    breakOff = reject;
  });
  const broken = receive('agent-1', OTHER);
  await runtime.advance(5 * HOUR_MS);
  expect(ended).toEqual([]);
  breakOff(new Error('connection lost'));
  await expect(broken).rejects.toThrow('connection lost');
  expect(ended).toEqual(['hold 2 released']);
  await runtime.advance(HOUR_MS - 1);
  expect(ended).toHaveLength(1);
  await runtime.advance(1);
  expect(ended).toEqual(['hold 2 released', 'hold 1 released']);
});

it.each(['agent-1', null])('a hold ends after a day, though the agent %s is active', async (agentId) => {
  await receive(agentId);
  for (let passedMs = 0; passedMs < 24 * HOUR_MS; passedMs += 50 * MINUTE_MS) {
    expect(ended).not.toContain('hold 1 released');
    await receive(agentId, OTHER);
    await runtime.advance(50 * MINUTE_MS);
  }
  expect(ended).toContain('hold 1 released');
});

it('a blob that is found again is held for an hour after the latest transfer', async () => {
  for (const _ of [1, 2]) await sent.findForReport('agent-1', FILE.digest);
  await runtime.advance(50 * MINUTE_MS);
  await receive('agent-1', OTHER);
  await runtime.advance(30 * MINUTE_MS);
  expect(ended).toEqual(['hold 1 released']);
});

it('a blob that is not there is not held', async () => {
  expect(await sent.findForReport('agent-1', 'b'.repeat(64))).toBeUndefined();
  expect(ended).toEqual(['hold 1 released']);
});
