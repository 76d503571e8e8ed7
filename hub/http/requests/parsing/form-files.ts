/** Reading of a form with any number of files (multipart/form-data, RFC 7578): each file goes into the blob store as it arrives. */
import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import type { Readable } from 'node:stream';
import type { BusboyInstance } from '@fastify/busboy';
import type { FileRef } from '@workbench-hub/shared/domain/job';
import { HubError, invalidInput } from '../../../core/errors.js';
import { type BlobStore, BlobTooLarge, type Hold } from '../../../core/ports/blobs.js';
import { type FileLimits, fileTooLarge, tooManyFiles } from './body-blob.js';
import { BodyChunks } from './body-chunks.js';
import { formParser, unreadableForm } from './multipart.js';

/** Limit of the names and values of a form beside its files, which are held in memory. */
const MAX_FIELD_BYTES = 1024 * 1024;
const MAX_FIELDS = 10_100;

/** Limit of files that are being written at once. */
const MAX_PENDING = 16;

/** Part of a form with a file. */
export interface FormFile {
  readonly part: string;
  readonly fileName: string;
  readonly ref: FileRef;
}

/** Part of a form with a text. */
export interface FormField {
  readonly part: string;
  readonly value: string;
}

export interface ReceivedForm {
  readonly files: readonly FormFile[];
  readonly fields: readonly FormField[];
}

export interface FormFilesOptions {
  readonly files: BlobStore;
  readonly limits: FileLimits;
  /** Limit of the whole form. */
  readonly maxBytes: number;
  /** Parts that are files; no other part may be one. */
  readonly fileParts: ReadonlySet<string>;
  /** Parts that are texts; others are refused. */
  readonly fieldParts: ReadonlySet<string>;
}

/** Reads a form to its end. Rejects with INVALID_INPUT, BODY_TOO_LARGE and STORAGE_FULL; the rest is then left unread. Stored blobs are
 *  held by `hold`. */
export async function receiveForm(
  request: IncomingMessage,
  options: FormFilesOptions,
  hold: Hold,
): Promise<ReceivedForm> {
  const { limits, maxBytes } = options;
  if (Number(request.headers['content-length'] ?? 0) > maxBytes) throw tooLarge(maxBytes);
  const parser = formParser(request, {
    parts: limits.maxFiles + MAX_FIELDS,
    fieldSize: MAX_FIELD_BYTES,
    headerSize: 16 * 1024,
  });
  const form = new IncomingForm(parser, options, hold);
  try {
    await form.read(request);
    return await form.received();
  } catch (error) {
    await form.abandon(error as Error);
    throw error;
  }
}

class IncomingForm {
  readonly #parser: BusboyInstance;
  readonly #options: FormFilesOptions;
  readonly #hold: Hold;
  readonly #files: { readonly part: string; readonly fileName: string; readonly ref: Promise<FileRef> }[] =
    [];
  readonly #fields: FormField[] = [];
  readonly #pending = new Set<Promise<unknown>>();
  readonly #open = new Set<Readable>();
  #fieldBytes = 0;
  #fail: (error: unknown) => void = () => undefined;
  /** Rejects with the first error. */
  readonly #failed: Promise<never>;
  readonly #finished: Promise<unknown>;

  constructor(parser: BusboyInstance, options: FormFilesOptions, hold: Hold) {
    this.#parser = parser;
    this.#options = options;
    this.#hold = hold;
    this.#failed = new Promise<never>((_, reject) => {
      this.#fail = reject;
    });
    this.#failed.catch(() => undefined);
    this.#finished = new Promise((resolve) => parser.once('finish', () => resolve(undefined)));
    parser.on('file', (part, stream, fileName) => this.#onFile(part, stream, fileName));
    parser.on('field', (part, value, isNameCut, isCut) => this.#onField(part, value, isNameCut || isCut));
    parser.once('partsLimit', () =>
      this.#fail(invalidInput([tooManyFiles('form', options.limits.maxFiles)])),
    );
    parser.once('error', (error) => this.#fail(unreadableForm(error)));
  }

  async read(request: IncomingMessage): Promise<void> {
    const { maxBytes } = this.#options;
    const chunks = new BodyChunks();
    let bytes = 0;
    for await (const chunk of request.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
      bytes += chunk.length;
      if (bytes > maxBytes) throw tooLarge(maxBytes);
      const tooShort = chunks.errorOf(chunk.length);
      if (tooShort) throw tooShort;
      if (!this.#parser.write(chunk)) await this.#unlessFailed(once(this.#parser, 'drain'));
      while (this.#pending.size > MAX_PENDING) await this.#unlessFailed(Promise.race(this.#pending));
    }
    this.#parser.end();
    await this.#unlessFailed(this.#finished);
  }

  async received(): Promise<ReceivedForm> {
    const stored = this.#files.map(async (file) => ({ ...file, ref: await file.ref }));
    return { files: await this.#unlessFailed(Promise.all(stored)), fields: this.#fields };
  }

  /** Resolves when nothing half-written is left. */
  async abandon(error: Error): Promise<void> {
    this.#parser.removeAllListeners('file');
    for (const stream of this.#open) stream.destroy(error);
    await Promise.allSettled(this.#pending);
  }

  #unlessFailed<T>(step: Promise<T>): Promise<T> {
    return Promise.race([step, this.#failed]);
  }

  #onFile(part: string, stream: Readable, fileName: string | undefined): void {
    const { files, limits } = this.#options;
    // Reported by the parser, or by the reader.
    stream.on('error', () => undefined);
    const refusal = this.#refusalOf(part, fileName);
    if (refusal) {
      this.#fail(refusal);
      return;
    }
    this.#open.add(stream);
    const ref = files.store(stream, limits.maxFileBytes, this.#hold).catch((error: unknown) => {
      const failure = error instanceof BlobTooLarge ? fileTooLarge(part, limits.maxFileBytes) : error;
      this.#fail(failure);
      throw failure;
    });
    const done = ref
      .catch(() => undefined)
      .finally(() => {
        this.#pending.delete(done);
        this.#open.delete(stream);
      });
    this.#pending.add(done);
    this.#files.push({ part, fileName: fileName ?? '', ref });
  }

  /** Why this file is refused; undefined when it is not. */
  #refusalOf(part: string, fileName: string | undefined): HubError | undefined {
    const { limits, fileParts } = this.#options;
    if (!fileParts.has(part)) return this.#unknown(part, 'file');
    if (fileName === undefined)
      return invalidInput([{ where: part, what: 'must have a file name in its Content-Disposition' }]);
    return this.#files.length < limits.maxFiles
      ? undefined
      : invalidInput([tooManyFiles('form', limits.maxFiles)]);
  }

  #onField(part: string, value: string, isCut: boolean): void {
    this.#fieldBytes += part.length + value.length;
    if (isCut || this.#fieldBytes > MAX_FIELD_BYTES) {
      const message = `the texts of a form may have at most ${MAX_FIELD_BYTES} bytes`;
      this.#fail(new HubError('BODY_TOO_LARGE', message));
    } else if (this.#options.fieldParts.has(part)) this.#fields.push({ part, value });
    else this.#fail(this.#unknown(part, 'text'));
  }

  #unknown(part: string, kind: 'file' | 'text'): HubError {
    const { fileParts, fieldParts } = this.#options;
    if (kind === 'text' && fileParts.has(part))
      return invalidInput([{ where: part, what: 'must be a file' }]);
    if (kind === 'file' && fieldParts.has(part))
      return invalidInput([{ where: part, what: 'must be a text' }]);
    const known = [...fileParts, ...fieldParts].join(', ');
    return invalidInput([
      { where: 'form', what: `has the unknown part ${JSON.stringify(part)}; known are ${known}` },
    ]);
  }
}

function tooLarge(maxBytes: number): HubError {
  return new HubError('BODY_TOO_LARGE', `the body may have at most ${maxBytes} bytes (limits.requestBody)`);
}
