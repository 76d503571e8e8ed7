import { getEventListeners } from 'node:events';
import { pino } from 'pino';
import { beforeEach, describe, expect, test } from 'vitest';
import type { AttemptReport } from '../domain/attempt.js';
import { type ManualRuntime, manualRuntime } from '../runtime/manual-runtime.js';
import { type HubConnection, TransferFailed } from './ports/hub.js';
import { BlobLost, type ReportSpool, type SpooledReport } from './ports/spool.js';
import { NO_TRACING } from './ports/tracing.js';
import { Reporting } from './reporting.js';
import { attemptReport } from './reports.js';

let runtime: ManualRuntime;
let reporting: Reporting;
/** Digests for which the hub has no room. */
let tooLarge: Set<string>;
let sent: string[];
/** Uploads that the test holds until it continues them. */
let uploads: (() => void)[];
let areHeld: boolean;
/** Bytes that the hub has of each blob, and the offsets from which blobs were sent. */
let keptBytes: number;
let offsets: number[];

beforeEach(() => {
  runtime = manualRuntime();
  tooLarge = new Set();
  sent = [];
  uploads = [];
  areHeld = false;
  keptBytes = 0;
  offsets = [];
  const spool = {
    leftOver: [],
    put: async () => undefined,
    acknowledge: async () => undefined,
    read: async function* () {},
    readSmall: (folder: string) => {
      if (folder === 'damaged') throw new BlobLost('it is damaged');
      return Buffer.from(folder);
    },
  } as unknown as ReportSpool;
  reporting = new Reporting({ spool, runtime, log: pino({ level: 'silent' }), tracing: NO_TRACING });
});

function join(inlineBlobBytes = 0): AbortController {
  const ended = new AbortController();
  const files = {
    uploadedBytes: () => Promise.resolve({ keptBytes }),
    upload: ({ digest }: { digest: string }, _: unknown, fromByte: number) => {
      offsets.push(fromByte);
      if (areHeld) return new Promise<void>((resolve) => uploads.push(resolve));
      return tooLarge.has(digest)
        ? Promise.reject(new TransferFailed('REFUSED', 'the disk of the hub is full'))
        : Promise.resolve();
    },
  };
  reporting.joined({
    ended: ended.signal,
    files,
    inlineBlobBytes,
    sendReport: ({ taskId, outcome }: AttemptReport, blobs: readonly Buffer[] = []) =>
      void sent.push([outcome === 'OK' ? taskId : `${taskId} ${outcome}`, ...blobs].join(' with ')),
  } as unknown as HubConnection);
  return ended;
}

function withContent(taskId: string): SpooledReport {
  const ref = { taskId, attempt: 1, instanceId: 'sim' };
  const log = { digest: `content of ${taskId}`, sizeBytes: 1 };
  return {
    report: attemptReport(ref, { outcome: 'OK', message: null }, { outputFiles: [], log }),
    folder: taskId,
  };
}

describe('results for which the hub has no room', () => {
  const large = Array.from({ length: 10 }, (_, index) => `large-${index}`);

  beforeEach(() => {
    for (const taskId of large) tooLarge.add(`content of ${taskId}`);
  });

  test('do not hold up others, and are delivered when there is room', async () => {
    join();
    for (const taskId of large) reporting.add(withContent(taskId));
    reporting.add(withContent('small'));
    await runtime.advance(60_000);
    expect(sent).toEqual(['small']);
    tooLarge.clear();
    await runtime.advance(60_000);
    expect([...sent].sort()).toEqual([...large, 'small']);
  });

  test('leave no listeners at the signal of the connection, however many there are', async () => {
    const { signal } = join();
    const before = getEventListeners(signal, 'abort').length;
    for (const taskId of large) reporting.add(withContent(taskId));
    await runtime.advance(60_000);
    expect(getEventListeners(signal, 'abort')).toHaveLength(before);
  });

  test('go to the hub that is joined next, once each', async () => {
    const first = join();
    for (const taskId of large) reporting.add(withContent(taskId));
    await runtime.advance(1000);
    first.abort();
    tooLarge.clear();
    join();
    await runtime.advance(60_000);
    expect([...sent].sort()).toEqual(large);
    expect(runtime.pendingTimers).toBe(0);
  });
});

describe('a result', () => {
  test('goes to the hub that was joined last, even if the end of the former link is noticed later', async () => {
    const former = join();
    join();
    former.abort();
    expect(reporting.isDelivered).toBe(true);
    reporting.add(withContent('late'));
    expect(reporting.isDelivered).toBe(false);
    await runtime.advance(0);
    expect(sent).toEqual(['late']);
  });

  test('is waited for until a hub has acknowledged it, or none is connected', async () => {
    const { taskId, attempt, instanceId } = withContent('task').report;
    const told: string[] = [];
    const wait = () => void reporting.delivered().then(() => told.push('delivered'));
    const hub = join();
    reporting.add(withContent('task'));
    reporting.add(withContent('other'));
    wait();
    reporting.acknowledged({ taskId, attempt, instanceId }, true);
    await runtime.advance(0);
    expect(told).toEqual([]);
    hub.abort();
    await runtime.advance(0);
    expect(told).toEqual(['delivered']);
    join();
    wait();
    reporting.acknowledged({ taskId: 'other', attempt, instanceId }, true);
    await runtime.advance(0);
    expect(told).toEqual(['delivered', 'delivered']);
  });

  test('is sent with its blobs at once if the hub takes so much, also beside uploads', async () => {
    join(1);
    areHeld = true;
    reporting.add({ ...withContent('small'), folder: 'content' });
    expect(sent).toEqual(['small with content']);
    expect(uploads).toEqual([]);
  });

  test('counts as lost when it cannot be read to be sent at once', async () => {
    join(1);
    reporting.add({ ...withContent('task'), folder: 'damaged' });
    expect(sent).toEqual(['task INSTANCE_LOST']);
  });

  test('of a returned attempt is sent without its checkpoint when that takes too long', async () => {
    join();
    areHeld = true;
    const ref = { taskId: 'task', attempt: 1, instanceId: 'sim' };
    const files = { outputFiles: [], log: null, checkpoint: [{ path: 'step', digest: 'a', sizeBytes: 1 }] };
    const report = attemptReport(ref, { outcome: 'RETURNED', message: 'stopping' }, files);
    reporting.add({ report, folder: 'content' });
    let isDelivered = false;
    void reporting.checkpointsDelivered().then(() => {
      isDelivered = true;
    });
    await runtime.advance(0);
    expect([sent, isDelivered]).toEqual([[], false]);
    reporting.leaveCheckpointsOut();
    expect(sent).toEqual(['task RETURNED']);
    reporting.acknowledged(ref, true);
    await runtime.advance(0);
    expect(isDelivered).toBe(true);
  });

  test('of a returned attempt lacks its checkpoint when that cannot be read', async () => {
    join(1);
    const ref = { taskId: 'task', attempt: 1, instanceId: 'sim' };
    const checkpoint = [{ path: 'step', digest: 'a', sizeBytes: 1 }];
    const files = { outputFiles: [], log: null, checkpoint };
    const report = attemptReport(ref, { outcome: 'RETURNED', message: 'stopping' }, files);
    expect(reporting.hasCheckpoints).toBe(false);
    reporting.add({ report, folder: 'damaged' });
    expect(sent).toEqual(['task RETURNED']);
    expect(reporting.hasCheckpoints).toBe(false);
  });

  test.each([
    [0, 0],
    [1, 1],
    [2, 0],
  ])('of one byte, of which the hub has %d, is sent from byte %d on', async (kept, offset) => {
    join();
    keptBytes = kept;
    reporting.add(withContent('task'));
    await runtime.advance(0);
    expect(offsets).toEqual([offset]);
    expect(sent).toEqual(['task']);
  });

  test('waits for its turn: four at a time are uploaded, however many have been', async () => {
    join();
    areHeld = true;
    for (let number = 0; number < 8; number++) reporting.add(withContent(`result-${number}`));
    await runtime.advance(0);
    for (let number = 8; number < 20; number++) {
      expect(uploads).toHaveLength(4);
      uploads.shift()?.();
      await runtime.advance(0);
      reporting.add(withContent(`result-${number}`));
      await runtime.advance(0);
    }
    for (let number = 0; number < 8; number++) {
      uploads.shift()?.();
      await runtime.advance(0);
    }
    expect(sent).toHaveLength(20);
  });
});
