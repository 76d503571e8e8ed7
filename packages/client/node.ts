/** Files on disk, for the client in Node.js. */
import { createHash } from 'node:crypto';
import { openAsBlob } from 'node:fs';
import { access, constants, stat } from 'node:fs/promises';
import path from 'node:path';
import { download, type Source } from './download.js';
import type { TaskOutputFile } from './generated/types.gen.js';
import type { InputStorage } from './input-storage.js';
import { withDigest } from './input-storage.js';
import type { Task } from './task.js';

/** A file on disk as the model, a script or an additional file of a job; it is read when it is sent. */
export async function file(filePath: string): Promise<File> {
  await expectReadable(filePath);
  const blob = await openAsBlob(filePath);
  const opened = new File([blob], path.basename(filePath));
  return withDigest(opened, () => digestOf(opened));
}

/** Throws an error in words for a file that cannot be read: that of `openAsBlob` says nothing. */
async function expectReadable(filePath: string): Promise<void> {
  const isFile = await access(filePath, constants.R_OK)
    .then(async () => (await stat(filePath)).isFile())
    .catch((error: NodeJS.ErrnoException) => {
      throw new Error(`${filePath} cannot be read: ${readFailure(error)}`, { cause: error });
    });
  if (!isFile) throw new Error(`${filePath} cannot be read: it is no file`);
}

/** Reason in words why a file cannot be read. */
export function readFailure({ code = '', message }: NodeJS.ErrnoException): string {
  return FAILURES[code] ?? message;
}

const FAILURES: Readonly<Record<string, string>> = {
  ENOENT: 'there is no such file',
  ENOTDIR: 'there is no such file',
  EACCES: 'this user may not read it',
};

async function digestOf(content: Blob): Promise<string> {
  const digest = createHash('sha256');
  for await (const piece of content.stream()) digest.update(piece);
  return digest.digest('hex');
}

export interface SaveOptions {
  /** Replaces files that exist. */
  readonly overwrite?: boolean;
  /** Called as bytes arrive. */
  readonly onProgress?: (progress: {
    readonly path: string;
    readonly bytes: number;
    readonly totalBytes: number;
  }) => void;
  readonly signal?: AbortSignal | undefined;
}

/** An output cannot be saved under its name. */
export class UnsafePathError extends Error {
  override readonly name = 'UnsafePathError';
}

/** A file exists, and was not to be replaced. */
export class FileExistsError extends Error {
  override readonly name = 'FileExistsError';
}

/**
 * Saves the outputs of a task beneath a folder, which is created if needed; returns their paths on disk. A file appears
 * under its name when all of it was received and its digest is right. Nothing is written when a file exists that is not
 * to be replaced ({@link FileExistsError}), or when a name leads out of the folder, is none on this
 * system, or would be the file of another output, too ({@link UnsafePathError}).
 */
export async function saveOutputs(task: Task, folder: string, options: SaveOptions = {}): Promise<string[]> {
  const { overwrite = false, signal } = options;
  const outputs = await task.outputs(signal);
  const targets = pathsWithin(
    folder,
    outputs.map(({ path }) => path),
  );
  if (!overwrite) for (const target of targets) await expectAbsent(target);
  for (const [at, output] of outputs.entries()) {
    await download(sourceOf(task, output, signal), targets[at] as string, {
      overwrite: true,
      onBytes: (bytes) => options.onProgress?.({ path: output.path, bytes, totalBytes: output.size }),
      signal,
    });
  }
  return targets;
}

function sourceOf(
  task: Task,
  { path: name, digest }: TaskOutputFile,
  signal: AbortSignal | undefined,
): Source {
  return { name, digest, open: (from, ifRange) => task.output(name, { from, ifRange, signal }) };
}

export interface SaveFileOptions {
  /** Called as bytes arrive; the total is unknown to some servers. */
  readonly onBytes?: (bytes: number, totalBytes: number | undefined) => void;
  readonly signal?: AbortSignal | undefined;
}

/**
 * Saves a file of the output storage as `target`, which must not exist ({@link FileExistsError}). It appears when all of it was
 * received and its digest is right.
 */
export async function saveStoredFile(
  storage: InputStorage,
  name: string,
  target: string,
  { onBytes, signal }: SaveFileOptions = {},
): Promise<void> {
  const open = (from: number, ifRange: string | undefined) => storage.output(name, { from, ifRange, signal });
  try {
    await download({ name, open }, target, { overwrite: false, onBytes, signal });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    throw new FileExistsError(`${target} exists already: choose another name`, { cause: error });
  }
}

/** Paths beneath the folder. Throws {@link UnsafePathError} for names as {@link pathWithin} does, and for two that are one file. */
export function pathsWithin(
  folder: string,
  names: readonly string[],
  platform: NodeJS.Platform = process.platform,
): string[] {
  const seen = new Map<string, string>();
  for (const name of names) {
    // Windows and macOS tell no cases apart, and macOS no forms of Unicode.
    const key = ['win32', 'darwin'].includes(platform) ? name.normalize().toLowerCase() : name;
    const other = seen.get(key);
    if (other !== undefined) {
      const both = `${JSON.stringify(other)} and ${JSON.stringify(name)}`;
      throw new UnsafePathError(`the outputs ${both} cannot be saved: they would be one file here`);
    }
    seen.set(key, name);
  }
  return names.map((name) => pathWithin(folder, name, platform));
}

/** Path beneath the folder. Throws {@link UnsafePathError} for a name that leads out of it, or that Windows does not allow there. */
export function pathWithin(
  folder: string,
  name: string,
  platform: NodeJS.Platform = process.platform,
): string {
  const parts = name.split('/');
  const isSafe = parts.every(
    (part) => part !== '' && part !== '.' && part !== '..' && !/[\\\0]|^[A-Za-z]:/.test(part),
  );
  if (!isSafe)
    throw new UnsafePathError(
      `the output ${JSON.stringify(name)} cannot be saved: its name leads out of the folder`,
    );
  if (platform === 'win32' && parts.some(isUnfitForWindows))
    throw new UnsafePathError(
      `the output ${JSON.stringify(name)} cannot be saved: Windows does not allow its name`,
    );
  return path.join(folder, ...parts);
}

/** Devices of Windows, which have any extension: `NUL`, `com1.txt`, `con .log`. */
const DEVICE = /^(?:con|prn|aux|nul|conin\$|conout\$|(?:com|lpt)[0-9¹²³]) *(?:\..*)?$/i;

function isUnfitForWindows(part: string): boolean {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are rejected
  return /[<>:"|?*\u0000-\u001f]|[. ]$/.test(part) || DEVICE.test(part);
}

async function expectAbsent(target: string): Promise<void> {
  const found = await stat(target).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined;
    throw error;
  });
  if (found) throw new FileExistsError(`${target} exists already: choose another folder, or overwrite it`);
}
