/** UUIDv7 in the order of creation. */
import { randomFillSync } from 'node:crypto';
import { v7 as uuidv7 } from 'uuid';

const ID_BYTES = 16;
/** Number of ids for which random bytes are fetched at once: a system call for each would dominate the cost. */
const IDS_AT_A_TIME = 256;
/** The counter within a millisecond starts in the lower half of its 32 bits, so that it does not overflow. */
const COUNTER_START_MASK = 0x7fffffff;

/** Creates a source of ids. They keep their order when the clock is set back. */
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
