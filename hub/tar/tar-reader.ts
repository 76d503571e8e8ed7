/** Unpacking of an archive of {@link createArchive}, compressed or not, verified against its digests. */
import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { mkdir, open } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { createGunzip } from 'node:zlib';
import { StartRefused } from '@workbench-hub/shared/runtime/run-program';
import { SYNC_EVERY_BYTES, writeStream } from '@workbench-hub/shared/runtime/write-stream';
import { extract, type Header } from 'tar-stream';
import { SUMS } from './tar-writer.js';

const READ_BYTES = 256 * 1024;
/** Maximum size of the digest list, which is read into memory. */
const MAX_SUMS_BYTES = 1024 ** 3;

export interface UnpackOptions {
  /** True for the name of an allowed entry; any other refuses the archive. */
  readonly isKnown: (name: string) => boolean;
  /** Called with the first entry before the others are unpacked; may throw. */
  readonly onFirst: (text: string) => void;
  readonly firstName: string;
  /** Called with the bytes read so far. */
  readonly onProgress: (readBytes: number) => void;
}

/** Unpacks `file` into `folder`, with every file synced; resolves with the digests. Rejects with {@link StartRefused}
 *  for an incomplete or changed archive. */
export async function unpackArchive(
  file: string,
  folder: string,
  options: UnpackOptions,
): Promise<ReadonlyMap<string, string>> {
  const refuse = (why: string) => new StartRefused(`${file} cannot be restored: ${why}; nothing was changed`);
  let unpacked: Unpacked;
  const tar = extract();
  const source = createReadStream(file, { highWaterMark: READ_BYTES });
  const watched = async function* (pieces: AsyncIterable<Buffer>) {
    for await (const piece of pieces) {
      options.onProgress(source.bytesRead);
      yield piece;
    }
  };
  const ended = (await isCompressed(file))
    ? pipeline(source, watched, createGunzip(), tar)
    : pipeline(source, watched, tar);
  // Errors of the archive end the unpacking of its entries.
  ended.catch(() => undefined);
  try {
    unpacked = await unpackEntries(tar as AsyncIterable<Entry>, folder, options, refuse);
    await ended;
  } catch (error) {
    if (error instanceof StartRefused || isOfTheSystem(error)) throw error;
    throw refuse(`it is damaged, or not a backup (${(error as Error).message})`);
  } finally {
    source.destroy();
    tar.destroy();
  }
  verify(unpacked, refuse);
  return unpacked.digests;
}

/** An entry of an archive: what it is, and its content. */
interface Entry extends AsyncIterable<Uint8Array> {
  readonly header: Pick<Header, 'name' | 'type' | 'size'>;
}

/** The refusal of the archive for a reason. */
type Refuse = (why: string) => StartRefused;

interface Unpacked {
  /** Digests of the entries, by name. */
  readonly digests: ReadonlyMap<string, string>;
  /** The digest list; undefined when the archive ends before it. */
  readonly sums: string | undefined;
}

async function unpackEntries(
  tar: AsyncIterable<Entry>,
  folder: string,
  options: UnpackOptions,
  refuse: Refuse,
): Promise<Unpacked> {
  const digests = new Map<string, string>();
  let sums: string | undefined;
  for await (const entry of tar) {
    const { name, type } = entry.header;
    if (sums !== undefined) throw refuse(`${name} comes after the digests`);
    if (type !== 'file') throw refuse(`${name} is no file`);
    if (digests.has(name)) throw refuse(`${name} is in it twice`);
    if (name === SUMS) sums = await textOf(entry, refuse);
    else if (digests.size === 0) digests.set(name, await readFirst(entry, options, refuse));
    else if (options.isKnown(name)) digests.set(name, await unpack(entry, join(folder, name)));
    else throw refuse(`${JSON.stringify(name)} is not an entry of a backup`);
  }
  return { digests, sums };
}

/** Passes the first entry on; resolves with its digest. */
async function readFirst(
  entry: Entry,
  { firstName, onFirst }: UnpackOptions,
  refuse: Refuse,
): Promise<string> {
  if (entry.header.name !== firstName) throw refuse('it is no backup of a hub');
  const text = await textOf(entry, refuse);
  onFirst(text);
  return createHash('sha256').update(text).digest('hex');
}

/** Throws unless the archive has its digest list, and exactly the entries of that. */
function verify({ digests, sums }: Unpacked, refuse: Refuse): void {
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
}

async function unpack(entry: Entry, path: string): Promise<string> {
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

async function textOf(entry: Entry, refuse: Refuse): Promise<string> {
  const { size = 0 } = entry.header;
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

/** A full disk is not a fault of the archive. */
function isOfTheSystem(error: unknown): boolean {
  return typeof (error as NodeJS.ErrnoException).syscall === 'string';
}
