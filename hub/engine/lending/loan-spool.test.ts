import { createHash } from 'node:crypto';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { BlobLost, type ReportSpool } from '@workbench-hub/shared/joining/ports/spool';
import { beforeEach, expect, it } from 'vitest';
import { BlobUnreadable } from '../../core/ports/blobs.js';
import { loanSpool } from './loan-spool.js';

const CONTENT = Buffer.from('the field');
const FILE = { digest: createHash('sha256').update(CONTENT).digest('hex'), sizeBytes: CONTENT.length };

/** The blob on the disk; undefined when it is missing. */
let stored: Buffer | undefined;
/** Size of the blob as the store tells it; that on the disk unless it is set. */
let toldBytes: number | undefined;
/** Fault of the disk; undefined for none. */
let fault: Error | undefined;
/** Fault with which the store does not find it; undefined for none. */
let notFound: Error | undefined;
let spool: ReportSpool;

beforeEach(() => {
  stored = CONTENT;
  toldBytes = undefined;
  fault = undefined;
  notFound = undefined;
  spool = loanSpool({
    files: {
      find: async () => {
        if (notFound) throw notFound;
        const content = stored;
        return (
          content && {
            sizeBytes: toldBytes ?? content.length,
            isEncrypted: false,
            open: ({ start, end } = { start: 0, end: content.length }) =>
              fault
                ? new Readable({
                    read() {
                      this.destroy(fault);
                    },
                  })
                : Readable.from([content.subarray(start, end)]),
          }
        );
      },
    },
    closing: { add: () => undefined },
    loanOf: () => undefined,
    settled: () => undefined,
  });
});

const read = async (fromByte: number) => String(await buffer(spool.read('loan', FILE, fromByte)));

it('a blob is read from any place on', async () => {
  expect(await read(0)).toBe('the field');
  expect(await read(4)).toBe('field');
  expect(await read(FILE.sizeBytes)).toBe('');
  expect(String(await spool.readSmall('loan', FILE))).toBe('the field');
  await spool.verify('loan', FILE);
});

it('a blob with other bytes is lost, which is seen when all of it is read', async () => {
  stored = Buffer.from('the f1eld');
  expect(await read(0)).toBe('the f1eld');
  await expect(spool.verify('loan', FILE)).rejects.toThrow(BlobLost);
  await expect(spool.readSmall('loan', FILE)).rejects.toThrow(/has the digest [0-9a-f]{64} now/);
});

it.each([
  ['missing', undefined, undefined],
  ['cut off', CONTENT.subarray(0, 5), undefined],
  ['cut off unnoticed', CONTENT.subarray(0, 5), CONTENT.length],
])('a blob that is %s is lost', async (_, content, bytes) => {
  stored = content;
  toldBytes = bytes;
  await expect(read(2)).rejects.toThrow(BlobLost);
  await expect(spool.verify('loan', FILE)).rejects.toThrow(BlobLost);
});

it.each([
  ['damaged when it is read', new BlobUnreadable('damaged in chunk 3')],
  ['on a broken sector', Object.assign(new Error('input/output error'), { code: 'EIO' })],
])('a blob that is %s is lost', async (_, error) => {
  fault = error;
  await expect(read(2)).rejects.toThrow(BlobLost);
  await expect(spool.verify('loan', FILE)).rejects.toThrow(BlobLost);
});

it('a blob that cannot be opened for its damage is lost, and one of a store that is away is not', async () => {
  notFound = new BlobUnreadable('the header is damaged');
  await expect(read(2)).rejects.toThrow(BlobLost);
  notFound = new Error('the database is away');
  await expect(read(2)).rejects.toThrow(
    expect.objectContaining({ name: 'TransferFailed', failure: 'UNAVAILABLE' }),
  );
});

it('a blob that cannot be read for now is not lost', async () => {
  fault = Object.assign(new Error('too many open files'), { code: 'EMFILE' });
  const unavailable = expect.objectContaining({ name: 'TransferFailed', failure: 'UNAVAILABLE' });
  await expect(read(2)).rejects.toThrow(unavailable);
  await expect(spool.readSmall('loan', FILE)).rejects.toThrow(unavailable);
});
