/** One upload to the input storage, with its progress: `fetch` tells none. */
import { session } from '../../data/hub.js';

const PATH = '/api/2.0/storage/input/upload';

export interface SendOptions {
  readonly name: string;
  readonly overwrite: boolean;
  readonly encrypt: boolean;
  readonly signal: AbortSignal;
  /** Called with the bytes that were sent. */
  readonly onProgress: (sent: number) => void;
}

/** The hub did not take a file. */
export class SendFault extends Error {
  override readonly name = 'SendFault';
  /** HTTP status; 0 when the connection broke. */
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

/** Sends a file from the disk, without reading it into memory. Rejects with {@link SendFault}. */
export async function sendFile(file: File, options: SendOptions): Promise<void> {
  const token = await session.token();
  try {
    await sendOnce(file, token, options);
  } catch (error) {
    // The session ended on the way; the hub has read nothing of the file then.
    if (!(error instanceof SendFault) || error.status !== 401 || !(await session.renew(token))) throw error;
    await sendOnce(file, await session.token(), options);
  }
}

function sendOnce(
  file: File,
  token: string | undefined,
  { name, overwrite, encrypt, signal, onProgress }: SendOptions,
): Promise<void> {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    request.open(
      'POST',
      `${PATH}?${new URLSearchParams({ overwrite: String(overwrite), encrypt: String(encrypt) })}`,
    );
    if (token !== undefined) request.setRequestHeader('authorization', `Bearer ${token}`);
    request.upload.onprogress = ({ loaded }) => onProgress(Math.min(loaded, file.size));
    request.onload = () => {
      if (request.status >= 200 && request.status < 300) resolve();
      else reject(new SendFault(request.status, messageIn(request.responseText) ?? `HTTP ${request.status}`));
    };
    request.onerror = () => reject(new SendFault(0, ''));
    request.onabort = () => reject(new DOMException('canceled', 'AbortError'));
    signal.addEventListener('abort', () => request.abort(), { once: true });
    const body = new FormData();
    body.append('file', file, name);
    request.send(body);
  });
}

/** Faults that the hub reports. */
function messageIn(body: string): string | undefined {
  try {
    const { message } = JSON.parse(body) as { message?: unknown };
    return typeof message === 'string' ? message : undefined;
  } catch {
    return undefined;
  }
}
