/** The input storage of a hub: files that many jobs use. */
import { type Connection, type ContentOptions, contentRequest } from './connection.js';
import { HubError } from './errors.js';
import type { StoredInput } from './job.js';

/** Smaller files travel with the request. */
const SMALL_BYTES = 256 * 1024;
/** Larger files get a random name, since browsers digest in memory only. */
const MAX_DIGESTED_BYTES = 256 * 1024 * 1024;
const PREFIX = 'content-';

export interface UploadOptions {
  /** Replaces a file of this name. */
  readonly overwrite?: boolean;
  /** Stores the file encrypted. */
  readonly encrypt?: boolean;
  readonly signal?: AbortSignal;
}

export class InputStorage {
  readonly #connection: Connection;
  readonly #stored = new WeakMap<Blob, Promise<StoredInput | undefined>>();

  constructor(connection: Connection) {
    this.#connection = connection;
  }

  /** Uploads a file under a name of 3 to 64 letters, digits, `.`, `_` and `-`. */
  async put(
    name: string,
    content: Blob,
    { overwrite = false, encrypt = false, signal }: UploadOptions = {},
  ): Promise<StoredInput> {
    const body = new FormData();
    body.append('file', content, name);
    const query = { overwrite, encrypt };
    await this.#connection.request('/api/2.0/storage/input/upload', { method: 'POST', query, body, signal });
    return { storageName: name };
  }

  /** Whether there is a file of this name; with `renew`, its expiry begins again. */
  async exists(name: string, { renew = false } = {}): Promise<boolean> {
    const query = renew ? { renewExpirationTimestamp: true } : {};
    const path = `/api/2.0/storage/input/${encodeURIComponent(name)}`;
    return (await this.#connection.json<{ exists: boolean }>(path, { query })).exists;
  }

  async delete(name: string): Promise<void> {
    await this.#connection.request(`/api/2.0/storage/input/${encodeURIComponent(name)}/delete`, {
      method: 'DELETE',
    });
  }

  /** Content of a file of the output storage, `<taskId>-<filename>`. */
  output(name: string, options: ContentOptions = {}): Promise<Response> {
    const path = `/api/2.0/storage/output/${encodeURIComponent(name)}/download`;
    return this.#connection.request(path, contentRequest(options));
  }

  /**
   * Stores a large file once, under a name that its content determines, with this ending, for all jobs that use it.
   * Undefined for a small file, and while the input storage is off.
   */
  keep(content: Blob, ending = ''): Promise<StoredInput | undefined> {
    const known = this.#stored.get(content);
    if (known !== undefined) return known;
    const stored = this.#keep(content, ending);
    this.#stored.set(content, stored);
    stored.catch(() => this.#stored.delete(content));
    return stored;
  }

  async #keep(content: Blob, ending: string): Promise<StoredInput | undefined> {
    if (content.size <= SMALL_BYTES) return undefined;
    const id = content.size > MAX_DIGESTED_BYTES ? crypto.randomUUID() : await digestOf(content);
    const name = `${PREFIX}${id}${ending}`;
    try {
      if (await this.exists(name, { renew: true })) return { storageName: name };
      return await this.put(name, content);
    } catch (error) {
      if (!(error instanceof HubError)) throw error;
      // Somebody else has stored the same content meanwhile.
      if (error.code === 'STORED_FILE_EXISTS') return { storageName: name };
      if (error.status === 423) return undefined;
      throw error;
    }
  }
}

/** The first half of the SHA-256, in hexadecimal. */
async function digestOf(content: Blob): Promise<string> {
  const digest = new Uint8Array(await crypto.subtle.digest('SHA-256', await content.arrayBuffer()));
  return [...digest.subarray(0, 16)].map((byte) => byte.toString(16).padStart(2, '0')).join('');
}
