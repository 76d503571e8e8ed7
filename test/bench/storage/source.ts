import { open } from 'node:fs/promises';

const BLOCK_BYTES = 3 * 1024 * 1024;

/** Writes a file whose bytes follow from the seed. */
export async function writeSource(path: string, sizeBytes: number, seed: number): Promise<void> {
  const block = blockOf(seed);
  const file = await open(path, 'w');
  try {
    for (let at = 0; at < sizeBytes; at += BLOCK_BYTES) {
      block.writeUInt32LE(at / BLOCK_BYTES);
      await file.writeFile(block.subarray(0, Math.min(BLOCK_BYTES, sizeBytes - at)));
    }
    await file.sync();
  } finally {
    await file.close();
  }
}

/** Xorshift: no two stretches are alike. */
function blockOf(seed: number): Buffer {
  const block = Buffer.alloc(BLOCK_BYTES);
  let state = seed | 1;
  for (let at = 0; at < BLOCK_BYTES; at += 4) {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    block.writeInt32LE(state | 0, at);
  }
  return block;
}
