/** Checks whether a hub can work on an object store, in words for its operator. Leaves nothing there. */
import { type Finding, fault, ok, warning } from '@workbench-hub/shared/checks/finding';
import type { S3Bucket } from './s3-bucket.js';
import { S3Fault } from './s3-fault.js';
import { locationOf } from './s3-settings.js';

/** S3 refuses requests whose time is off by a quarter of an hour. */
const MAX_CLOCK_OFFSET_MS = 60_000;

const CONTENT = Buffer.from('workbench-hub checks that it can write here\n');

/** `key` is that of an object that does not exist; it begins with `prefix`. */
export async function checkBucket(
  bucket: S3Bucket,
  { prefix, key }: { readonly prefix: string; readonly key: string },
): Promise<Finding[]> {
  const { settings } = bucket;
  const reached = await found('bucket', `${locationOf(settings)} answers`, () => bucket.probe());
  if (reached.state === 'FAULT') return [reached];
  const written = await found('right to write', 'objects can be stored', () => bucket.put(key, CONTENT));
  const findings = [reached, await clockOf(bucket), written];
  if (written.state === 'FAULT') return findings;
  return [
    ...findings,
    await found('right to read', 'objects can be read, also in part', () => readPart(bucket, key)),
    await found('right to list', 'objects can be listed', async () => {
      for await (const _ of bucket.list(prefix)) break;
    }),
    await found('uploads in parts', 'they can be begun, listed and aborted', async () => {
      await bucket.tryParts(key);
      await bucket.abortUploads(key, 0);
    }),
    await found('right to remove', 'objects can be removed', () => bucket.remove([key])),
  ];
}

async function readPart(bucket: S3Bucket, key: string): Promise<void> {
  const pieces: Buffer[] = [];
  for await (const piece of bucket.read(key, 4, 9)) pieces.push(piece);
  if (Buffer.concat(pieces).equals(CONTENT.subarray(4, 9))) return;
  throw new S3Fault(
    'REFUSED',
    'the object store returns other bytes than those that were stored',
    'find out whether a proxy between changes requests (Range, Content-Encoding)',
  );
}

async function clockOf(bucket: S3Bucket): Promise<Finding> {
  const check = 'clock';
  const clocks = await bucket.clocks().catch(() => undefined);
  if (!clocks) return ok(check, 'the object store does not tell its time');
  const offsetMs = clocks.oursMs - clocks.theirsMs;
  if (Math.abs(offsetMs) < MAX_CLOCK_OFFSET_MS) return ok(check, 'those of hub and object store agree');
  const words = `that of this machine is ${Math.round(Math.abs(offsetMs) / 1000)} s ${offsetMs > 0 ? 'ahead of' : 'behind'} that of the object store`;
  return warning(
    check,
    words,
    'synchronize them (chronyd, systemd-timesyncd): requests are refused when they differ by 15 minutes',
  );
}

async function found(check: string, message: string, step: () => Promise<void>): Promise<Finding> {
  try {
    await step();
    return ok(check, message);
  } catch (error) {
    if (!(error instanceof S3Fault)) throw error;
    return fault(check, error.message, error.advice);
  }
}
