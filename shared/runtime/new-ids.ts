/** UUIDv7 in the order in which they are asked for. */
import { randomFillSync } from 'node:crypto';
import { v7 as uuidv7 } from 'uuid';

const ID_BYTES = 16;
/** Chance is fetched for so many ids at a time: a call of the system for each would cost more than all the rest. */
const IDS_AT_A_TIME = 256;
/** The counter within a millisecond begins in the lower half of its 32 bits, so that it does not overflow. */
const COUNTER_START_MASK = 0x7fffffff;

/** Gives a source of identifiers. A clock that is set back does not take them back: they stay in their order. */
export function newIds(nowMs: () => number): () => string {
  const pool = Buffer.alloc(ID_BYTES * IDS_AT_A_TIME);
  const pieces = Array.from({ length: IDS_AT_A_TIME }, (_, at) =>
    pool.subarray(at * ID_BYTES, (at + 1) * ID_BYTES),
  );
  let used = pieces.length;
  let latestMs = -1;
  let counter = 0;
  return () => {
    if (used === pieces.length) {
      randomFillSync(pool);
      used = 0;
    }
    const random = pieces[used++] as Buffer;
    const now = nowMs();
    if (now > latestMs) {
      latestMs = now;
      counter = random.readUInt32LE(0) & COUNTER_START_MASK;
    } else if (++counter > 0xffffffff) {
      latestMs++;
      counter = 0;
    }
    return uuidv7({ random, msecs: latestMs, seq: counter });
  };
}
