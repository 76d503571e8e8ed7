import { Readable } from 'node:stream';
import { manualRuntime } from '@workbench-hub/shared/runtime/manual-runtime';
import { beforeEach, expect, it } from 'vitest';
import type { BlobStore } from '../../core/ports/blobs.js';
import { SentBlobs } from './sent-blobs.js';

const FILE = { digest: 'a'.repeat(64), sizeBytes: 3 };
const HOUR_MS = 3_600_000;

/** Ends of the holds, in order. */
let ended: string[];
let runtime: ReturnType<typeof manualRuntime>;
let sent: SentBlobs;

beforeEach(() => {
  ended = [];
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
    receive: async () => undefined as never,
    find: async (digest) =>
      (digest === FILE.digest ? { sizeBytes: 3, isEncrypted: false } : undefined) as never,
  };
  sent = new SentBlobs(files as BlobStore, runtime.timers);
});

const receive = (agentId: string | null) => sent.receive(agentId, FILE, Readable.from([]), 0);

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

it('a blob that is not there is not held', async () => {
  expect(await sent.findForReport('agent-1', 'b'.repeat(64))).toBeUndefined();
  expect(ended).toEqual(['hold 1 released']);
});
