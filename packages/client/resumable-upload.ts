/** A file on its way to the input storage in parts (tus 1.0), which goes on after a cut, a restart of the hub, or of this program. */
import { type Connection, pause } from './connection.js';
import { HubError, isCode, OverloadedError, UnreachableError } from './errors.js';
import type { InputUpload } from './generated/types.gen.js';

const UPLOADS = '/api/x/storage/input/uploads';
const VERSION = { 'tus-resumable': '1.0.0' };

const MIB = 1024 * 1024;
const FIRST_PART_BYTES = 4 * MIB;
const MIN_PART_BYTES = 2 * MIB;
const MAX_PART_BYTES = 16 * MIB;
/** Times of a part between which its size stays. */
const SHORT_MS = 500;
const LONG_MS = 2000;

/** Delays between tries without progress; the last one goes on. */
const DELAYS_MS = [100, 300, 1000, 2000, 5000];
/** Time without progress after which the upload fails. */
const GIVE_UP_MS = 120_000;
/** The same while another client sends the same file, or the hub works on its end. */
const GIVE_UP_WAITING_MS = 1_800_000;

export interface UploadProgress {
  readonly name: string;
  /** Bytes that the hub has. */
  readonly bytes: number;
  readonly totalBytes: number;
}

/** An upload that a later call continues. */
export interface ContinuedUpload {
  /** Id of an upload of the same content. It begins anew when the hub no longer has it, or when it is one of another file. */
  readonly continues?: string | undefined;
  /** Called with the id of the upload that was begun or continued. */
  readonly onId?: ((id: string) => void) | undefined;
}

export interface FileToSend extends ContinuedUpload {
  readonly name: string;
  readonly content: Blob;
  /** SHA-256 in hexadecimal. With it, the hub verifies the content, and an earlier upload of it is continued. */
  readonly digest: string | undefined;
  readonly overwrite: boolean;
  readonly encrypt: boolean;
  readonly signal?: AbortSignal | undefined;
  readonly onProgress?: ((progress: UploadProgress) => void) | undefined;
}

/** Sends a file; false when the hub is too old to take it in parts. Rejects as requests do, and when there was no progress for long. */
export async function sendInParts(connection: Connection, file: FileToSend): Promise<boolean> {
  try {
    await new PartSender(connection, file).send();
    return true;
  } catch (error) {
    if (error instanceof HubError && ['UNKNOWN_PATH', 'METHOD_NOT_ALLOWED'].includes(error.code))
      return false;
    throw error;
  }
}

class PartSender {
  readonly #connection: Connection;
  readonly #file: FileToSend;
  #partBytes = FIRST_PART_BYTES;
  #progressAtMs = performance.now();
  #failures = 0;

  constructor(connection: Connection, file: FileToSend) {
    this.#connection = connection;
    this.#file = file;
  }

  async send(): Promise<void> {
    let upload = (await this.#continued()) ?? (await this.#earlier()) ?? (await this.#begin());
    this.#tell(upload.received);
    while (!upload.stored) {
      const before = upload.received;
      upload = await this.#part(upload).catch((error: unknown) => this.#again(upload, error));
      if (upload.received === before && !upload.stored) continue;
      this.#progressAtMs = performance.now();
      this.#failures = 0;
      this.#tell(upload.received);
    }
  }

  /** The upload that the caller continues. */
  async #continued(): Promise<InputUpload | undefined> {
    const { continues, onId, signal } = this.#file;
    if (continues === undefined) return undefined;
    try {
      const upload = await this.#connection.json<InputUpload>(`${UPLOADS}/${continues}`, { signal });
      if (!this.#isOfFile(upload)) return undefined;
      onId?.(upload.id);
      return upload;
    } catch (error) {
      if (isCode(error, 'UPLOAD_NOT_FOUND')) return undefined;
      throw error;
    }
  }

  #isOfFile({ name, size, overwrite, encrypt }: InputUpload): boolean {
    const { name: ownName, content, overwrite: ownOverwrite, encrypt: ownEncrypt } = this.#file;
    const isSame = name === ownName && size === content.size;
    return isSame && overwrite === ownOverwrite && encrypt === ownEncrypt;
  }

  /** An upload of the same content that was interrupted. */
  async #earlier(): Promise<InputUpload | undefined> {
    const { digest, signal } = this.#file;
    if (digest === undefined) return undefined;
    const { uploads } = await this.#connection.json<{ uploads: InputUpload[] }>(UPLOADS, { signal });
    return uploads.findLast((each) => each.digest === digest && this.#isOfFile(each));
  }

  async #begin(): Promise<InputUpload> {
    const { name, content, digest, overwrite, encrypt, signal, onId } = this.#file;
    const sha256 = digest === undefined ? '' : `,sha256 ${btoa(digest)}`;
    const upload = await this.#connection.json<InputUpload>(UPLOADS, {
      method: 'POST',
      query: { overwrite, encrypt },
      headers: {
        ...VERSION,
        'upload-length': String(content.size),
        'upload-metadata': `filename ${btoa(unescapedUtf8(name))}${sha256}`,
      },
      // At worst, one that nothing is sent to expires.
      isIdempotent: true,
      signal,
    });
    onId?.(upload.id);
    return upload;
  }

  async #part(upload: InputUpload): Promise<InputUpload> {
    const { content, signal } = this.#file;
    const beganMs = performance.now();
    const { headers } = await this.#connection.request(`${UPLOADS}/${upload.id}`, {
      method: 'PATCH',
      body: content.slice(upload.received, upload.received + this.#partBytes),
      headers: {
        ...VERSION,
        'content-type': 'application/offset+octet-stream',
        'upload-offset': String(upload.received),
      },
      isRetried: false,
      signal,
    });
    this.#fitPart(performance.now() - beganMs);
    const received = Number(headers.get('upload-offset'));
    return { ...upload, received, stored: received === upload.size };
  }

  /** The state after a part that failed. Rejects when another try is of no use. */
  async #again(upload: InputUpload, failure: unknown): Promise<InputUpload> {
    this.#refuse(failure);
    const delayMs = DELAYS_MS[Math.min(this.#failures++, DELAYS_MS.length - 1)] as number;
    await pause(delayMs, this.#file.signal);
    if (isCode(failure, 'UPLOAD_NOT_FOUND')) return this.#begin();
    try {
      return await this.#connection.json(`${UPLOADS}/${upload.id}`, { signal: this.#file.signal });
    } catch (error) {
      // The hub may work on the end of the upload: nothing is sent meanwhile.
      if (isCode(error, 'UPLOAD_IN_PROGRESS')) return this.#again(upload, error);
      this.#refuse(error);
      return upload;
    }
  }

  #refuse(error: unknown): void {
    const isWaiting = isCode(error, 'UPLOAD_IN_PROGRESS');
    const mayPass =
      isWaiting ||
      error instanceof UnreachableError ||
      error instanceof OverloadedError ||
      isCode(error, 'WRONG_OFFSET') ||
      isCode(error, 'UPLOAD_NOT_FOUND');
    const limitMs = isWaiting ? GIVE_UP_WAITING_MS : GIVE_UP_MS;
    if (!mayPass || this.#connection.retries === 0 || performance.now() - this.#progressAtMs > limitMs)
      throw error;
  }

  /** Makes parts that take about a second: a bar moves, and little is sent again after a cut. */
  #fitPart(tookMs: number): void {
    if (tookMs < SHORT_MS) this.#partBytes = Math.min(this.#partBytes * 2, MAX_PART_BYTES);
    if (tookMs > LONG_MS) this.#partBytes = Math.max(this.#partBytes / 2, MIN_PART_BYTES);
  }

  #tell(bytes: number): void {
    const { name, content, onProgress } = this.#file;
    onProgress?.({ name, bytes, totalBytes: content.size });
  }
}

/** A character for each byte of UTF-8, as `btoa` takes them. */
function unescapedUtf8(text: string): string {
  return String.fromCharCode(...new TextEncoder().encode(text));
}
