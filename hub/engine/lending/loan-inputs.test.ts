import { createHash } from 'node:crypto';
import { buffer } from 'node:stream/consumers';
import type { FileRef, Job } from '@workbench-hub/shared/domain/job';
import { type HubConnection, TransferFailed } from '@workbench-hub/shared/joining/ports/hub';
import type { Logger } from '@workbench-hub/shared/runtime/logger';
import { type ManualRuntime, manualRuntime } from '@workbench-hub/shared/runtime/manual-runtime';
import { beforeEach, expect, it } from 'vitest';
import { type Hold, TransferInProgress } from '../../core/ports/blobs.js';
import { InputsMissing, LoanInputs } from './loan-inputs.js';

const CONTENT = Buffer.from('a large mesh');
const FILE: FileRef = {
  digest: createHash('sha256').update(CONTENT).digest('hex'),
  sizeBytes: CONTENT.length,
};
const JOB: Job = {
  type: 'EXECUTE_BATCH_JOB',
  model: null,
  scripts: [FILE],
  additionalFiles: [],
  variables: [],
};
const LOAN: Hold = { add: () => undefined, release: () => undefined, abandon: () => undefined };
const WAIT_FOR_ALL_TRIES_MS = 120_000;

let runtime: ManualRuntime;
let inputs: LoanInputs;
/** Blobs of this hub, by digest. */
let kept: Map<string, Buffer>;
/** Whether an agent is uploading the blob. */
let isUploaded: boolean;
let downloads: number;
/** Whether the upstream breaks each download off. */
let isBroken: boolean;
/** Lets the content come that is being downloaded. */
let send: () => void;
let sent: Promise<void>;
let held: number;

/** Lets downloads wait for {@link send}. */
function holdBack(): void {
  sent = new Promise((resolve) => {
    send = resolve;
  });
}

beforeEach(() => {
  runtime = manualRuntime();
  kept = new Map();
  isUploaded = false;
  isBroken = false;
  downloads = 0;
  held = 0;
  holdBack();
  const connection: Partial<HubConnection> = {
    ended: new AbortController().signal,
    files: {
      download: async (_digest, _fromByte, signal) => {
        downloads++;
        const content = async function* () {
          signal.throwIfAborted();
          await Promise.race([sent, new Promise((_, reject) => signal.addEventListener('abort', reject))]);
          if (isBroken) throw new TransferFailed('UNREACHABLE', 'the connection was reset');
          yield CONTENT;
        };
        return { fromByte: 0, content: content() };
      },
    } as Partial<HubConnection['files']> as HubConnection['files'],
  };
  inputs = new LoanInputs({
    files: {
      hold: () => ({ ...LOAN, release: () => void held--, add: () => void held++ }),
      find: async (blob) => {
        const found = kept.get(typeof blob === 'string' ? blob : blob.digest);
        return found && { sizeBytes: found.length, isEncrypted: false, open: () => undefined as never };
      },
      receivedBytes: async () => 0,
      receive: async ({ digest }, stream, _fromByte, hold) => {
        if (isUploaded) throw new TransferInProgress();
        hold?.add({ digest });
        kept.set(digest, await buffer(stream));
      },
      storeEncrypted: () => Promise.reject(new Error('nothing is encrypted')),
    },
    connected: async () => connection as HubConnection,
    runtime,
    log: { warn: () => undefined } as unknown as Logger,
  });
});

const never = () => new AbortController().signal;

it('an input that several loans need is downloaded once', async () => {
  const fetched = Promise.all([1, 2, 3].map(() => inputs.fetch(JOB, LOAN, never())));
  await runtime.advance(WAIT_FOR_ALL_TRIES_MS);
  expect(downloads).toBe(1);
  send();
  expect(await fetched).toEqual([JOB, JOB, JOB]);
  expect([downloads, held]).toEqual([1, 0]);
});

it('the download goes on when the loan is over that began it, and ends with the last one', async () => {
  const [first, second] = [new AbortController(), new AbortController()];
  const over = new Error('the loan is over');
  const ofFirst = inputs.fetch(JOB, LOAN, first.signal);
  const ofSecond = inputs.fetch(JOB, LOAN, second.signal);
  await runtime.advance(0);
  first.abort(over);
  await expect(ofFirst).rejects.toBe(over);
  send();
  expect(await ofSecond).toEqual(JOB);
  kept.clear();

  holdBack();
  await expect(inputs.fetch(JOB, LOAN, AbortSignal.abort(over))).rejects.toBe(over);
  expect(held).toBe(0);
  const ofFourth = inputs.fetch(JOB, LOAN, never());
  await runtime.advance(0);
  expect(downloads).toBe(3);
  send();
  expect(await ofFourth).toEqual(JOB);
});

it('an input that an agent of this hub uploads meanwhile is waited for', async () => {
  isUploaded = true;
  send();
  const fetched = inputs.fetch(JOB, LOAN, never());
  let isFetched = false;
  void fetched.then(() => {
    isFetched = true;
  });
  await runtime.advance(WAIT_FOR_ALL_TRIES_MS);
  expect(isFetched).toBe(false);
  const before = downloads;
  kept.set(FILE.digest, CONTENT);
  await runtime.advance(10_000);
  expect(await fetched).toEqual(JOB);
  expect(downloads).toBe(before);
});

it('a loan that joins a download has all tries, however many the others have used, and no more', async () => {
  isBroken = true;
  send();
  const outcomes: string[] = [];
  const fetch = (name: string) =>
    inputs.fetch(JOB, LOAN, never()).then(
      () => void outcomes.push(`${name} is fetched`),
      (error: unknown) =>
        void outcomes.push(error instanceof InputsMissing ? `${name} is missing` : `${name}: ${error}`),
    );
  const triesUntil = async (tries: number) => {
    for (let ms = 0; downloads < tries && ms < WAIT_FOR_ALL_TRIES_MS; ms += 100) await runtime.advance(100);
  };
  void fetch('first');
  await triesUntil(4);
  void fetch('second');
  void fetch('third');
  await triesUntil(9);
  expect(outcomes).toEqual(['first is missing']);
  isBroken = false;
  await runtime.advance(WAIT_FOR_ALL_TRIES_MS);
  expect(outcomes.slice(1).sort()).toEqual(['second is fetched', 'third is fetched']);

  kept.clear();
  isBroken = true;
  const before = downloads;
  void fetch('fourth');
  await triesUntil(before + 4);
  void fetch('fifth');
  void fetch('sixth');
  await runtime.advance(2 * WAIT_FOR_ALL_TRIES_MS);
  expect(outcomes.slice(3)).toEqual(['fourth is missing', 'fifth is missing', 'sixth is missing']);
  expect(downloads - before).toBe(10);
});
