/** The WebSocket client of the agent link. */
import { type ClientOptions, WebSocket } from 'ws';
import type { Runtime, Timer } from '../runtime/runtime.js';
import type { Transport } from './link.js';
import { MAX_FRAME_BYTES } from './messages.js';

/** PEM: certificate authorities instead of those that Node.js trusts, and the client certificate with its key. */
export interface DialTls {
  readonly ca?: string;
  readonly cert?: string;
  readonly key?: string;
}

export interface DialOptions {
  /** `ws://` or `wss://` URL of the endpoint. */
  readonly url: string;
  /** Token or credential. */
  readonly token: string;
  /** For `wss://`. The hub's certificate is always verified. */
  readonly tls?: DialTls;
  readonly handshakeTimeoutMs: number;
}

export interface DialHandlers {
  onFrame(frame: string): void;
  /** Called once, after the connection has ended. */
  onClose(reason: string): void;
}

/** The hub answered the WebSocket request with another status. */
export class DialRefused extends Error {
  override readonly name = 'DialRefused';
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

/** Resolves with the open connection; rejects with {@link DialRefused}, or with the error of the network. */
export function dial(options: DialOptions, handlers: DialHandlers): Promise<Transport> {
  return new Promise((resolve, reject) => {
    const socket = open(options, reject);
    socket.once('open', () => resolve(webSocketTransport(socket, handlers)));
  });
}

/** Answer of a hub to the question for its status. */
interface StatusReceived {
  /** Undefined for an older hub, which closes the connection after 10 s without one. */
  readonly text: string | undefined;
  readonly receivedAtMs: number;
}

/** Time in which an open connection brings the status; longer than that of an older hub. */
const STATUS_WITHIN_MS = 15_000;

/** Opens a connection, receives the hub's status, and ends it. Rejects as {@link dial}, when neither comes in time, and with the reason of
 *  the signal. */
export function dialForStatus(
  options: DialOptions,
  { clock, timers }: Pick<Runtime, 'clock' | 'timers'>,
  signal?: AbortSignal,
): Promise<StatusReceived> {
  return new Promise((resolve, reject) => {
    let deadline: Timer | undefined;
    const end = () => {
      deadline?.cancel();
      signal?.removeEventListener('abort', onAbort);
      socket.terminate();
    };
    const failed = (error: unknown) => {
      reject(error);
      end();
    };
    const received = (text: string | undefined) => {
      resolve({ text, receivedAtMs: clock.nowMs() });
      end();
    };
    const onAbort = () => failed(signal?.reason);
    const socket = open(options, failed);
    socket.once('open', () => {
      const late = new Error(`the hub does not tell its status within ${STATUS_WITHIN_MS / 1000} s`);
      deadline = timers.after(STATUS_WITHIN_MS, () => failed(late));
    });
    socket.once('message', (data) => received(data.toString()));
    socket.once('close', () => received(undefined));
    if (signal?.aborted) onAbort();
    else signal?.addEventListener('abort', onAbort, { once: true });
  });
}

/** Begins to open a WebSocket; `onFailure` gets a {@link DialRefused}, or the error of the network. */
function open(
  { url, token, tls, handshakeTimeoutMs }: DialOptions,
  onFailure: (error: Error) => void,
): WebSocket {
  const options: ClientOptions = {
    headers: { authorization: `Bearer ${token}` },
    handshakeTimeout: handshakeTimeoutMs,
    maxPayload: MAX_FRAME_BYTES,
    perMessageDeflate: false,
    ...tls,
    rejectUnauthorized: true,
  };
  const socket = new WebSocket(url, options);
  socket.once('unexpected-response', (request, response) => {
    request.destroy();
    onFailure(new DialRefused(response.statusCode ?? 0, `${response.statusCode} ${response.statusMessage}`));
  });
  socket.once('error', onFailure);
  return socket;
}

/** Creates a transport for an open WebSocket, on either side. */
export function webSocketTransport(socket: WebSocket, handlers: DialHandlers): Transport {
  let lastError = '';
  socket.removeAllListeners('error');
  socket.on('error', (error) => {
    lastError = error.message;
  });
  socket.on('message', (data, isBinary) => {
    if (isBinary) socket.close(1003, 'text frames only');
    else handlers.onFrame(data.toString());
  });
  socket.once('close', (code, reason) => {
    handlers.onClose(reason.toString() || lastError || `connection closed (${code})`);
  });
  return {
    send: (frame) => socket.send(frame),
    close: (code, reason) => socket.close(code, reason),
    terminate: () => socket.terminate(),
    bufferedBytes: () => socket.bufferedAmount,
    pause: () => socket.pause(),
    resume: () => socket.resume(),
  };
}
