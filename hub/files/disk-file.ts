import { absent, type BlobDisk } from './blob-disk.js';
import type { OpenFile } from './blob-place.js';

/** Opens a file of the local disk; undefined when it does not exist. */
export async function openDiskFile(disk: BlobDisk, path: string): Promise<OpenFile | undefined> {
  const handle = await disk.open(path, 'r').catch(absent(undefined));
  if (!handle) return undefined;
  try {
    const { size } = await handle.stat();
    return {
      sizeBytes: size,
      location: path,
      blocks: (start, end, blockBytes) => blocksOf(handle, start, end, blockBytes),
      close: () => handle.close(),
    };
  } catch (error) {
    await handle.close();
    throw error;
  }
}

type ReadableHandle = Pick<Awaited<ReturnType<BlobDisk['open']>>, 'read'>;

async function* blocksOf(
  handle: ReadableHandle,
  start: number,
  end: number,
  blockBytes: number,
): AsyncGenerator<Buffer> {
  const block = Buffer.allocUnsafe(Math.min(blockBytes, end - start));
  for (let at = start; at < end; ) {
    const wanted = Math.min(block.length, end - at);
    let filled = 0;
    while (filled < wanted) {
      const { bytesRead } = await handle.read(block, filled, wanted - filled, at + filled);
      if (bytesRead === 0) break;
      filled += bytesRead;
    }
    if (filled > 0) yield block.subarray(0, filled);
    if (filled < wanted) return;
    at += filled;
  }
}
