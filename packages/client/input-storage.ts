/** The input storage of a hub: files that many jobs use. */
import { type Connection, type ContentOptions, contentRequest } from './connection.js';
import { isCode } from './errors.js';
import type { User } from './generated/types.gen.js';
import type { StoredInput } from './job.js';
import { type ContinuedUpload, sendInParts, type UploadProgress } from './resumable-upload.js';

/** Smaller files travel with the request. */
const SMALL_BYTES = 256 * 1024;
/** Larger files are sent in parts. */
const ONE_REQUEST_BYTES = 8 * 1024 * 1024;
/** Larger files have no digest unless they are on the disk, since browsers digest in memory only. */
const MAX_DIGESTED_BYTES = 256 * 1024 * 1024;
const PREFIX = 'content-';
/** Digits of the digest in the name of a file that is stored once. */
const NAME_DIGITS = 32;

export interface UploadOptions {
  /** Replaces a file of this name. */
  readonly overwrite?: boolean;
  /** Stores the file encrypted. */
  readonly encrypt?: boolean;
  readonly signal?: AbortSignal | undefined;
  /** Called as the hub has received more of a file that is sent in parts. */
  readonly onProgress?: ((progress: UploadProgress) => void) | undefined;
  /** Has the file sent in parts, whatever its size, as an upload that a later call can continue. */
  readonly inParts?: ContinuedUpload;
}

/** Digests of files on the disk, without their content in memory. */
const digesters = new WeakMap<Blob, () => Promise<string>>();

/** Makes a file know its SHA-256, in hexadecimal; `digest` is called when it is needed. */
export function withDigest<Content extends Blob>(content: Content, digest: () => Promise<string>): Content {
  let known: Promise<string> | undefined;
  digesters.set(content, () => {
    known ??= digest();
    return known;
  });
  return content;
}

export class InputStorage {
  readonly #connection: Connection;
  readonly #stored = new WeakMap<Blob, Promise<StoredInput | undefined>>();
  /** Uploads of contents without a digest that were begun, for another try. */
  readonly #begun = new WeakMap<Blob, { readonly name: string; id?: string }>();

  constructor(connection: Connection) {
    this.#connection = connection;
  }

  /**
   * Uploads a file under a name of 3 to 64 letters, digits, `.`, `_` and `-`. One above 8 MiB is sent in parts: it goes on after cuts
   * and restarts of the hub, and where an interrupted upload of the same content ended. The content is known by its digest, or by the
   * id that the caller gives.
   */
  async put(name: string, content: Blob, options: UploadOptions = {}): Promise<StoredInput> {
    const { overwrite = false, encrypt = false, signal, onProgress, inParts } = options;
    if (inParts !== undefined || content.size > ONE_REQUEST_BYTES) {
      // Who continues an upload knows its file without reading all of it first.
      const digest = inParts === undefined ? await digestOf(content) : undefined;
      const file = { name, content, digest, overwrite, encrypt, signal, onProgress, ...inParts };
      if (await sendInParts(this.#connection, file)) return { storageName: name };
    }
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
   * Stores a large file once, under a name that its content determines, with this ending, for all jobs that use it: a
   * name of the user's own where a file of another user has that one.
   * Undefined for a small file, and while the input storage is off.
   */
  keep(
    content: Blob,
    ending = '',
    options: Pick<UploadOptions, 'signal' | 'onProgress'> = {},
  ): Promise<StoredInput | undefined> {
    const known = this.#stored.get(content);
    if (known !== undefined) return known;
    const stored = this.#keep(content, ending, options);
    this.#stored.set(content, stored);
    stored.catch(() => this.#stored.delete(content));
    return stored;
  }

  async #keep(content: Blob, ending: string, options: UploadOptions): Promise<StoredInput | undefined> {
    if (content.size <= SMALL_BYTES) return undefined;
    const digest = await digestOf(content);
    if (digest === undefined) return this.#keepUnknown(content, ending, options);
    const nameOf = (hexadecimal: string) => `${PREFIX}${hexadecimal.slice(0, NAME_DIGITS)}${ending}`;
    try {
      return await this.#once(nameOf(digest), content, options).catch(async (error: unknown) => {
        if (!isCode(error, 'STORED_FILE_FOREIGN')) throw error;
        // Another user may have stored other content there.
        return this.#once(nameOf(await this.#ownDigest(digest, options)), content, options);
      });
    } catch (error) {
      if (isCode(error, 'INPUT_STORAGE_OFF')) return undefined;
      throw error;
    }
  }

  /** Stores a file, unless one of this name is there. Rejects with STORED_FILE_FOREIGN when that is another user's. */
  async #once(name: string, content: Blob, options: UploadOptions): Promise<StoredInput> {
    if (await this.exists(name, { renew: true })) return { storageName: name };
    try {
      return await this.put(name, content, options);
    } catch (error) {
      // Somebody has stored it meanwhile.
      const isThere = isCode(error, 'STORED_FILE_EXISTS') && (await this.exists(name, { renew: true }));
      if (isThere) return { storageName: name };
      throw error;
    }
  }

  /** Digest of a content and the name of the user, the same each time. */
  async #ownDigest(digest: string, { signal }: UploadOptions): Promise<string> {
    const { username } = await this.#connection.json<User>('/api/2.0/user', { signal });
    return sha256Of(new Blob([`${digest} ${username}`]));
  }

  /** Stores a file without a digest, and continues what an earlier try has sent of it. */
  async #keepUnknown(
    content: Blob,
    ending: string,
    options: UploadOptions,
  ): Promise<StoredInput | undefined> {
    const begun = this.#begun.get(content) ?? { name: `${PREFIX}${crypto.randomUUID()}${ending}` };
    this.#begun.set(content, begun);
    const onId = (id: string) => {
      begun.id = id;
    };
    try {
      return await this.put(begun.name, content, { ...options, inParts: { continues: begun.id, onId } });
    } catch (error) {
      if (isCode(error, 'INPUT_STORAGE_OFF')) return undefined;
      throw error;
    }
  }
}

/** The SHA-256 in hexadecimal; undefined for a large file in memory, and on pages without TLS, where browsers digest nothing. */
async function digestOf(content: Blob): Promise<string | undefined> {
  const digester = digesters.get(content);
  if (digester !== undefined) return digester();
  if (content.size > MAX_DIGESTED_BYTES || crypto.subtle === undefined) return undefined;
  return sha256Of(content);
}

async function sha256Of(content: Blob): Promise<string> {
  const digest = new Uint8Array(await crypto.subtle.digest('SHA-256', await content.arrayBuffer()));
  return [...digest].map((byte) => byte.toString(16).padStart(2, '0')).join('');
}
