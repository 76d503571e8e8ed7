import { type HubConnection, TransferFailed } from '@workbench-hub/shared/joining/ports/hub';
import { type ManualRuntime, manualRuntime } from '@workbench-hub/shared/runtime/manual-runtime';
import { pino } from 'pino';
import { beforeEach, describe, expect, test } from 'vitest';
import { HostFault } from '../../core/host-fault.js';
import { type BlobCache, BlobMismatch } from '../../core/ports/blob-cache.js';
import { Blobs } from './blobs.js';

const FILE = { digest: 'ab', sizeBytes: 5 };
const NEVER = new AbortController().signal;

let runtime: ManualRuntime;
let cached: Set<string>;
let downloads: {
  signal: AbortSignal;
  fromByte: number;
  resolve: () => void;
  reject: (error: Error) => void;
}[];
let ended: AbortController;
let putFault: Error | null;
let roomFault: Error | null;
let keptBytes: number;
let contents: Blobs;

beforeEach(() => {
  runtime = manualRuntime();
  cached = new Set();
  downloads = [];
  ended = new AbortController();
  putFault = null;
  roomFault = null;
  keptBytes = 0;
  const cache: BlobCache = {
    pin: ({ digest }) => Promise.resolve(cached.has(digest)),
    unpin: () => undefined,
    expect: () => (roomFault ? Promise.reject(roomFault) : Promise.resolve()),
    keptBytes: () => Promise.resolve(keptBytes),
    put: ({ digest }) => {
      if (putFault) return Promise.reject(putFault);
      cached.add(digest);
      return Promise.resolve();
    },
  };
  const files = {
    download: (_digest: string, fromByte: number, signal: AbortSignal) =>
      new Promise((resolve, reject) => {
        downloads.push({ signal, fromByte, resolve: () => resolve({ fromByte, content: [] }), reject });
        signal.addEventListener('abort', () => reject(new TransferFailed('UNREACHABLE', 'aborted')));
      }),
  };
  contents = new Blobs({
    cache,
    runtime,
    log: pino({ level: 'silent' }),
    connected: (signal) => {
      signal.throwIfAborted();
      return Promise.resolve({ files, ended: ended.signal } as unknown as HubConnection);
    },
  });
});

const broken = new TransferFailed('UNREACHABLE', 'cut');

describe('a blob', () => {
  test('is downloaded once for all that need it at the same time', async () => {
    const both = Promise.all([contents.pin(FILE, NEVER), contents.pin(FILE, NEVER)]);
    await runtime.advance(0);
    expect(downloads).toHaveLength(1);
    downloads[0]?.resolve();
    await both;
    await contents.pin(FILE, NEVER);
    expect(downloads).toHaveLength(1);
  });

  test('is fetched again after the connection was lost, as often as that happens', async () => {
    const pinned = contents.pin(FILE, NEVER);
    for (let times = 0; times < 20; times++) {
      await runtime.advance(1000);
      expect(downloads).toHaveLength(times + 1);
      ended.abort();
      await runtime.advance(0);
      ended = new AbortController();
    }
    await runtime.advance(1000);
    downloads.at(-1)?.resolve();
    await pinned;
  });

  test('is fetched again from a hub that cannot use its store, as long as that takes', async () => {
    const pinned = contents.pin(FILE, NEVER);
    const away = new TransferFailed('UNAVAILABLE', 'the hub answered GET with 503');
    for (let times = 1; times <= 20; times++) {
      await runtime.advance(10_000);
      expect(downloads).toHaveLength(times);
      downloads.at(-1)?.reject(away);
    }
    await runtime.advance(10_000);
    downloads.at(-1)?.resolve();
    await pinned;
  });

  test('that a hub fails to deliver is given up after some tries', async () => {
    const pinned = contents.pin(FILE, NEVER);
    const rejected = expect(pinned).rejects.toThrow('an input file could not be fetched from the hub: cut');
    for (let times = 1; times <= 5; times++) {
      await runtime.advance(10_000);
      expect(downloads).toHaveLength(times);
      downloads.at(-1)?.reject(broken);
    }
    await rejected;
  });

  test('has all tries for a job that joins its download, however many are used, and no more', async () => {
    const failTimes = async (times: number) => {
      for (let failed = 0; failed < times; failed++) {
        await runtime.advance(10_000);
        downloads.at(-1)?.reject(broken);
      }
    };
    const outcomes: string[] = [];
    const pin = (name: string) =>
      contents.pin(FILE, NEVER).then(
        () => void outcomes.push(`${name} has it`),
        (error: unknown) => void outcomes.push(`${name}: ${error instanceof Error ? error.message : error}`),
      );
    const failure = 'an input file could not be fetched from the hub: cut';
    void pin('first');
    await failTimes(4);
    void pin('second');
    void pin('third');
    await failTimes(5);
    expect(outcomes).toEqual([`first: ${failure}`]);
    expect(downloads).toHaveLength(9);
    await failTimes(1);
    await runtime.advance(10_000);
    expect(outcomes.slice(1)).toEqual([`second: ${failure}`, `third: ${failure}`]);
    expect(downloads).toHaveLength(10);
  });

  test('is resumed where it broke off, as long as there is progress', async () => {
    const pinned = contents.pin(FILE, NEVER);
    for (let times = 1; times <= 20; times++) {
      await runtime.advance(1000);
      expect(downloads.map(({ fromByte }) => fromByte)).toHaveLength(times);
      expect(downloads.at(-1)?.fromByte).toBe(keptBytes);
      keptBytes++;
      downloads.at(-1)?.reject(broken);
    }
    await runtime.advance(1000);
    downloads.at(-1)?.resolve();
    await pinned;
  });

  test('that the hub does not have fails at once, and one that the disk does not take is a host fault', async () => {
    const missing = contents.pin(FILE, NEVER);
    await runtime.advance(0);
    downloads[0]?.reject(new TransferFailed('MISSING', '404'));
    await expect(missing).rejects.toThrow('the hub has no blob ab');
    putFault = Object.assign(new Error('ENOSPC: no space left on device, write'), { code: 'ENOSPC' });
    const full = contents.pin(FILE, NEVER);
    await runtime.advance(0);
    downloads[1]?.resolve();
    await expect(full).rejects.toThrow(HostFault);
    await expect(full).rejects.toThrow(
      "could not be stored on the agent's host, whose disk is full: ENOSPC: no space",
    );
    expect(downloads).toHaveLength(2);
  });

  test('for which there is no room is not fetched at all', async () => {
    roomFault = Object.assign(new Error('ENOSPC: it has 9 bytes, and there is room for 5'), {
      code: 'ENOSPC',
    });
    await expect(contents.pin(FILE, NEVER)).rejects.toThrow(
      "could not be stored on the agent's host, whose disk is full: ENOSPC: it has 9 bytes, and there is room for 5",
    );
    expect(downloads).toEqual([]);
  });

  test('that came damaged is fetched again', async () => {
    putFault = new BlobMismatch('another digest');
    const pinned = contents.pin(FILE, NEVER);
    await runtime.advance(0);
    downloads[0]?.resolve();
    await runtime.advance(0);
    putFault = null;
    await runtime.advance(1000);
    downloads[1]?.resolve();
    await pinned;
  });

  test('is no longer fetched when the last that needs it is canceled', async () => {
    const [first, second] = [new AbortController(), new AbortController()];
    const pins = [contents.pin(FILE, first.signal), contents.pin(FILE, second.signal)];
    const settled = Promise.allSettled(pins);
    await runtime.advance(0);
    first.abort(new Error('canceled'));
    await runtime.advance(0);
    expect(downloads[0]?.signal.aborted).toBe(false);
    second.abort(new Error('canceled'));
    expect((await settled).map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    expect(downloads[0]?.signal.aborted).toBe(true);
    expect(downloads).toHaveLength(1);
  });

  test('that one job no longer needs is fetched again, once, for jobs that begin at the same time', async () => {
    for (let microtasks = 0; microtasks < 20; microtasks++) {
      cached.clear();
      downloads = [];
      const gone = new AbortController();
      const first = contents.pin(FILE, gone.signal).catch(() => undefined);
      await runtime.advance(0);
      gone.abort(new Error('canceled'));
      for (let at = 0; at < microtasks; at++) await Promise.resolve();
      const second = contents.pin(FILE, NEVER);
      await runtime.advance(0);
      const third = contents.pin(FILE, NEVER);
      await runtime.advance(0);
      expect(downloads, `${microtasks} microtasks`).toHaveLength(2);
      downloads[1]?.resolve();
      await Promise.all([first, second, third]);
    }
  });

  test('that makes no progress is given up, even if a part of it is kept', async () => {
    keptBytes = 3;
    const pinned = contents.pin(FILE, NEVER);
    const rejected = expect(pinned).rejects.toThrow('could not be fetched from the hub: cut');
    for (let times = 1; times <= 6; times++) {
      await runtime.advance(10_000);
      expect(downloads).toHaveLength(times);
      downloads.at(-1)?.reject(broken);
    }
    await rejected;
  });
});
