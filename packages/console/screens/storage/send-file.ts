/** One upload to the input storage in parts, which goes on when what stopped it has passed. */
import { AuthenticationError, api, HubError, OverloadedError, UnreachableError } from '@workbench-hub/client';
import type { Store } from '../../base/store.js';
import { hub, session } from '../../data/hub.js';
import { reachability } from '../../session/reachability.js';
import { type UploadKey, unfinishedUploads } from './unfinished-uploads.js';

/** Delay before a try after a refusal that passes. */
const BUSY_MS = 2000;
/** The same after a connection that broke while the hub is there. */
const BROKEN_MS = 300;

/** Reasons for which an upload waits: no connection, nobody logged in, or a hub that is busy. */
export type PauseReason = 'away' | 'loggedOut' | 'busy';

export interface SendOptions {
  readonly name: string;
  readonly overwrite: boolean;
  readonly encrypt: boolean;
  readonly signal: AbortSignal;
  /** Called with the bytes that the hub has. */
  readonly onProgress: (sent: number) => void;
  readonly onPause: (reason: PauseReason) => void;
}

/** The file has changed since it was chosen, or is gone. */
export class FileGone extends Error {
  override readonly name = 'FileGone';
}

/** The session of the user whose file it is has ended. */
export class SessionOver extends Error {
  override readonly name = 'SessionOver';
}

/**
 * Sends a file from the disk, without reading it into memory, and continues an upload of the same file that was interrupted, also by
 * a reload of the page. Rejects with a {@link HubError} that does not pass, or {@link FileGone}.
 */
export async function sendFile(file: File, options: SendOptions): Promise<void> {
  const { name, overwrite, encrypt, signal, onProgress, onPause } = options;
  const { size, lastModified } = file;
  const key: UploadKey = { name, size, lastModified, overwrite, encrypt };
  for (;;) {
    try {
      await hub.storage.put(name, file, {
        overwrite,
        encrypt,
        signal,
        inParts: {
          continues: unfinishedUploads.idOf(key),
          onId: (id) => unfinishedUploads.keep(key, id),
        },
        onProgress: ({ bytes }) => onProgress(bytes),
      });
      return unfinishedUploads.forget(key);
    } catch (error) {
      // The upload is still that of its user, who may continue it; nobody else may end it.
      if (signal.aborted && !(signal.reason instanceof SessionOver)) await discard(key);
      await passed(error, file, signal, onPause);
    }
  }
}

/** Ends the upload at the hub, if that can be done. */
async function discard(key: UploadKey): Promise<void> {
  const id = unfinishedUploads.idOf(key);
  unfinishedUploads.forget(key);
  if (id !== undefined) await discardUpload(id).catch(() => undefined);
}

/** Ends an unfinished upload: its bytes count no longer for the quota. */
export async function discardUpload(id: string): Promise<void> {
  await api.deleteInputUpload({
    client: hub.client,
    path: { id },
    headers: { 'Tus-Resumable': '1.0.0' },
    throwOnError: true,
  });
}

/** Resolves when the reason has passed. Rejects with an error that does not pass, and when the upload is canceled. */
async function passed(
  error: unknown,
  file: File,
  signal: AbortSignal,
  onPause: (reason: PauseReason) => void,
): Promise<void> {
  signal.throwIfAborted();
  if (error instanceof UnreachableError) {
    // The browser reports a file that it cannot read as a connection that broke.
    await file
      .slice(0, 1)
      .arrayBuffer()
      .catch(() => {
        throw new FileGone(file.name);
      });
    onPause('away');
    await delay(BROKEN_MS, signal);
    return until(reachability, ({ isAway }) => !isAway, signal);
  }
  if (error instanceof AuthenticationError) {
    onPause('loggedOut');
    return until(session.state, ({ status }) => status === 'open', signal);
  }
  if (!(error instanceof HubError) || !isPassing(error)) throw error;
  onPause('busy');
  return delay((error.retryAfterS ?? 0) * 1000 || BUSY_MS, signal);
}

function isPassing(error: HubError): boolean {
  const isOverloaded = error instanceof OverloadedError && error.code !== 'STORAGE_FULL';
  return isOverloaded || ['UPLOAD_IN_PROGRESS', 'WRONG_OFFSET', 'UPLOAD_NOT_FOUND'].includes(error.code);
}

function delay(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, ms);
    const abort = () => {
      clearTimeout(timer);
      reject(signal.reason as Error);
    };
    signal.addEventListener('abort', abort, { once: true });
  });
}

/** Resolves when the value of the store is as it should be. */
function until<T>(store: Store<T>, isSo: (value: T) => boolean, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const check = () => {
      if (!isSo(store.get())) return;
      unsubscribe();
      resolve();
    };
    const unsubscribe = store.subscribe(check);
    signal.addEventListener('abort', () => {
      unsubscribe();
      reject(signal.reason as Error);
    });
    check();
  });
}
