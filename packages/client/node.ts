/** Files on disk, for the client in Node.js. */
import { createHash, randomUUID } from 'node:crypto';
import { createWriteStream, openAsBlob } from 'node:fs';
import { mkdir, rename, rm, stat } from 'node:fs/promises';
import path from 'node:path';
import { Readable, Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { TaskOutputFile } from './generated/types.gen.js';
import { withDigest } from './input-storage.js';
import type { Task } from './task.js';

/** A file on disk as the model, a script or an additional file of a job; it is read when it is sent. */
export async function file(filePath: string): Promise<File> {
  const blob = await openAsBlob(filePath);
  const opened = new File([blob], path.basename(filePath));
  return withDigest(opened, () => digestOf(opened));
}

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
 * to be replaced ({@link FileExistsError}), or when a name leads out of the folder ({@link UnsafePathError}).
 */
export async function saveOutputs(task: Task, folder: string, options: SaveOptions = {}): Promise<string[]> {
  const { overwrite = false, signal } = options;
  const outputs = (await task.outputs(signal)).map((output) => ({
    output,
    target: pathWithin(folder, output.path),
  }));
  if (!overwrite) for (const { target } of outputs) await expectAbsent(target);
  for (const { output, target } of outputs) await save(task, output, target, options);
  return outputs.map(({ target }) => target);
}

/** Path beneath the folder. Throws {@link UnsafePathError} for a name that leads out of it. */
export function pathWithin(folder: string, name: string): string {
  const parts = name.split('/');
  const isSafe = parts.every(
    (part) => part !== '' && part !== '.' && part !== '..' && !/[\\\0]|^[A-Za-z]:/.test(part),
  );
  if (!isSafe)
    throw new UnsafePathError(
      `the output ${JSON.stringify(name)} cannot be saved: its name leads out of the folder`,
    );
  return path.join(folder, ...parts);
}

async function expectAbsent(target: string): Promise<void> {
  const found = await stat(target).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined;
    throw error;
  });
  if (found) throw new FileExistsError(`${target} exists already: choose another folder, or overwrite it`);
}

async function save(
  task: Task,
  output: TaskOutputFile,
  target: string,
  { onProgress, signal }: SaveOptions,
): Promise<void> {
  await mkdir(path.dirname(target), { recursive: true });
  const partial = path.join(
    path.dirname(target),
    `.${path.basename(target)}.${randomUUID().slice(0, 8)}.partial`,
  );
  try {
    const digest = createHash('sha256');
    let bytes = 0;
    const { body } = await task.output(output.path, { signal });
    const count = new Transform({
      transform(chunk: Buffer, _encoding, done) {
        digest.update(chunk);
        bytes += chunk.length;
        onProgress?.({ path: output.path, bytes, totalBytes: output.size });
        done(null, chunk);
      },
    });
    const source = body
      ? Readable.fromWeb(body as Parameters<typeof Readable.fromWeb>[0])
      : Readable.from([]);
    await pipeline(source, count, createWriteStream(partial), signal ? { signal } : {});
    if (digest.digest('hex') !== output.digest)
      throw new Error(`${output.path} was damaged on its way; try again`);
    await rename(partial, target);
  } catch (error) {
    await rm(partial, { force: true });
    throw error;
  }
}
