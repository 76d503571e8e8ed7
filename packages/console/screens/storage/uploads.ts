/** Uploads of this page: one after the other, each with its progress. */
import { HubError } from '@workbench-hub/client';
import { Store } from '../../base/store.js';
import { FileGone, type PauseReason, type SendOptions, SessionOver } from './send-file.js';

export type UploadStatus =
  | 'waiting'
  | 'sending'
  | 'paused'
  | 'storing'
  | 'done'
  | 'failed'
  | 'exists'
  | 'name'
  | 'canceled'
  | 'gone';

export interface Upload {
  readonly id: number;
  readonly file: File;
  readonly name: string;
  readonly status: UploadStatus;
  /** Bytes. */
  readonly sent: number;
  /** Why it failed. */
  readonly fault?: Error | undefined;
  readonly pausedBy?: PauseReason | undefined;
}

type Send = (file: File, options: SendOptions) => Promise<void>;

/** Names that the input storage takes. */
const NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{2,63}$/;

export function isStorageName(name: string): boolean {
  return NAME.test(name);
}

/** The nearest name that the input storage takes. */
export function storageNameFor(name: string): string {
  const plain = name
    .normalize('NFKD')
    .replaceAll(/[^A-Za-z0-9._-]+/g, '-')
    .replace(/^[^A-Za-z0-9]+/, '');
  const ending = /\.[A-Za-z0-9]{1,8}$/.exec(plain)?.[0] ?? '';
  const stem = plain.slice(0, plain.length - ending.length).slice(0, 64 - ending.length);
  const joined = stem + ending;
  return isStorageName(joined) ? joined : `file-${joined}`.slice(0, 64);
}

export class Uploads {
  readonly state = new Store<readonly Upload[]>([]);
  readonly #send: Send;
  readonly #onStored: () => void;
  readonly #aborts = new Map<number, AbortController>();
  readonly #options = new Map<number, { readonly encrypt: boolean; readonly overwrite: boolean }>();
  #count = 0;
  #isBusy = false;

  /** `onStored` is called after each file that was stored. */
  constructor(send: Send, onStored: () => void) {
    this.#send = send;
    this.#onStored = onStored;
  }

  add(files: Iterable<File>, encrypt: boolean): void {
    const added: Upload[] = [];
    for (const file of files) {
      const id = ++this.#count;
      this.#options.set(id, { encrypt, overwrite: false });
      added.push({
        id,
        file,
        name: file.name,
        status: isStorageName(file.name) ? 'waiting' : 'name',
        sent: 0,
      });
    }
    this.state.set([...this.state.get(), ...added]);
    void this.#run();
  }

  /** Sends a file again, under another name, or in the place of the file of its name. */
  again(id: number, { name, overwrite = false }: { name?: string; overwrite?: boolean } = {}): void {
    this.#options.set(id, { encrypt: this.#options.get(id)?.encrypt ?? false, overwrite });
    this.#change(id, {
      status: 'waiting',
      sent: 0,
      fault: undefined,
      ...(name === undefined ? {} : { name }),
    });
    void this.#run();
  }

  cancel(id: number): void {
    const abort = this.#aborts.get(id);
    if (abort) abort.abort();
    else this.#change(id, { status: 'canceled' });
  }

  /** Forgets what has ended. */
  clear(): void {
    this.state.set(this.state.get().filter(({ status }) => isGoing(status)));
  }

  /** Ends with the session of the user: forgets all of them, also the one that is being sent. */
  giveUp(): void {
    this.state.set([]);
    for (const abort of this.#aborts.values()) abort.abort(new SessionOver());
  }

  async #run(): Promise<void> {
    if (this.#isBusy) return;
    this.#isBusy = true;
    for (;;) {
      const next = this.state.get().find(({ status }) => status === 'waiting');
      if (!next) break;
      await this.#one(next);
    }
    this.#isBusy = false;
  }

  async #one({ id, file, name }: Upload): Promise<void> {
    const abort = new AbortController();
    this.#aborts.set(id, abort);
    this.#change(id, { status: 'sending' });
    const { encrypt = false, overwrite = false } = this.#options.get(id) ?? {};
    try {
      await this.#send(file, {
        name,
        overwrite,
        encrypt,
        signal: abort.signal,
        onProgress: (sent) => this.#change(id, { sent, status: sent < file.size ? 'sending' : 'storing' }),
        onPause: (pausedBy) => this.#change(id, { status: 'paused', pausedBy }),
      });
      this.#change(id, { status: 'done', sent: file.size });
      this.#onStored();
    } catch (error) {
      this.#change(id, endOf(error));
    } finally {
      this.#aborts.delete(id);
    }
  }

  #change(id: number, change: Partial<Upload>): void {
    this.state.set(this.state.get().map((each) => (each.id === id ? { ...each, ...change } : each)));
  }
}

export function isGoing(status: UploadStatus): boolean {
  return ['waiting', 'sending', 'paused', 'storing'].includes(status);
}

function endOf(error: unknown): Partial<Upload> {
  if (error instanceof DOMException && error.name === 'AbortError') return { status: 'canceled' };
  if (error instanceof FileGone) return { status: 'gone' };
  if (error instanceof HubError && error.code === 'STORED_FILE_EXISTS') return { status: 'exists' };
  return { status: 'failed', fault: error instanceof Error ? error : new Error(String(error)) };
}
