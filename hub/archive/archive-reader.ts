/** Unpacks an archive of {@link createArchive}, compressed or not, and holds all of it against the digests at its end. */
import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { mkdir, open } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { createGunzip } from 'node:zlib';
import { StartRefused } from '@workbench-hub/shared/runtime/run-program';
import { writeStream } from '@workbench-hub/shared/runtime/write-stream';
import { extract } from 'tar-stream';
import { SUMS } from './archive-writer.js';

const READ_BYTES = 256 * 1024;
const SYNC_EVERY_BYTES = 128 * 1024 * 1024;

/** The list of digests is read into memory. */
const MAX_SUMS_BYTES = 1024 ** 3;

export interface UnpackOptions {
  /** Whether an entry of this name belongs into such an archive; one that does not refuses it. */
  readonly isKnown: (name: string) => boolean;
  /** Hears of the first entry before anything else is unpacked, and may throw. */
  readonly onFirst: (text: string) => void;
  readonly firstName: string;
  /** How much of the archive has been read. */
  readonly onProgress: (readBytes: number) => void;
}

/** Unpacks `file` into `folder`, every file synced; gives the digest of each. Rejects with {@link StartRefused} for what is
 *  no whole archive, or was changed. */
export async function unpackArchive(
  file: string,
  folder: string,
  options: UnpackOptions,
): Promise<ReadonlyMap<string, string>> {
  const refuse = (why: string) => new StartRefused(`${file} cannot be restored: ${why}; nothing was changed`);
  const digests = new Map<string, string>();
  let sums: string | undefined;
  const tar = extract();
  const source = createReadStream(file, { highWaterMark: READ_BYTES });
  const watched = async function* (pieces: AsyncIterable<Buffer>) {
    for await (const piece of pieces) {
      options.onProgress(source.bytesRead);
      yield piece;
    }
  };
  const unpacked = (await isCompressed(file))
    ? pipeline(source, watched, createGunzip(), tar)
    : pipeline(source, watched, tar);
  // What goes wrong with the archive ends the loop below, too.
  unpacked.catch(() => undefined);
  try {
    for await (const entry of tar) {
      const { name, type, size = 0 } = entry.header;
      const content = entry as AsyncIterable<Uint8Array>;
      if (sums !== undefined) throw refuse(`${name} comes after the digests`);
      if (type !== 'file') throw refuse(`${name} is no file`);
      if (digests.has(name)) throw refuse(`${name} is in it twice`);
      if (name === SUMS) {
        sums = await textOf(content, size, refuse);
        continue;
      }
      if (digests.size === 0) {
        if (name !== options.firstName) throw refuse('it is no backup of a hub');
        const text = await textOf(content, size, refuse);
        options.onFirst(text);
        digests.set(name, createHash('sha256').update(text).digest('hex'));
        continue;
      }
      if (!options.isKnown(name)) throw refuse(`${JSON.stringify(name)} does not belong into a backup`);
      digests.set(name, await unpack(content, join(folder, name)));
    }
    await unpacked;
  } catch (error) {
    if (error instanceof StartRefused || isOfTheSystem(error)) throw error;
    throw refuse(`it is damaged, or no backup (${(error as Error).message})`);
  } finally {
    source.destroy();
    tar.destroy();
  }
  if (sums === undefined) throw refuse('its end is missing');
  const expected = new Map(
    sums
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => [line.slice(66), line.slice(0, 64)]),
  );
  for (const [name, digest] of expected) {
    if (digests.get(name) !== digest) throw refuse(`${name} is missing or damaged`);
  }
  const [unexpected] = [...digests.keys()].filter((name) => !expected.has(name));
  if (unexpected !== undefined) throw refuse(`${unexpected} has no digest`);
  return digests;
}

async function unpack(entry: AsyncIterable<Uint8Array>, path: string): Promise<string> {
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  const hash = createHash('sha256');
  const handle = await open(path, 'wx', 0o600);
  try {
    const onChunk = (piece: Uint8Array) => void hash.update(piece);
    await writeStream(handle, entry, { onChunk, syncEveryBytes: SYNC_EVERY_BYTES });
    await handle.sync();
  } finally {
    await handle.close();
  }
  return hash.digest('hex');
}

async function textOf(
  entry: AsyncIterable<Uint8Array>,
  size: number,
  refuse: (why: string) => Error,
): Promise<string> {
  if (size > MAX_SUMS_BYTES) throw refuse('it is no backup of a hub');
  const pieces: Uint8Array[] = [];
  for await (const piece of entry) pieces.push(piece);
  return Buffer.concat(pieces).toString('utf8');
}

async function isCompressed(file: string): Promise<boolean> {
  const handle = await open(file, 'r');
  try {
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(2), 0, 2, 0);
    return bytesRead === 2 && buffer[0] === 0x1f && buffer[1] === 0x8b;
  } finally {
    await handle.close();
  }
}

/** A full disk is no fault of the archive. */
function isOfTheSystem(error: unknown): boolean {
  return typeof (error as NodeJS.ErrnoException).syscall === 'string';
}
