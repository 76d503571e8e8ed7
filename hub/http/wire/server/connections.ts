/**
 * Connections of clients. The requests of one connection are processed one after the other, in order: a client that sends many
 * at once (HTTP/1.1 pipelining, RFC 9112 section 9.3.2) and reads no response costs the memory of one response, and a request
 * begins only when the responses before it have left. While requests wait, nothing more of the connection is read.
 * http-terminator is unsuitable: it knows no pipelining, and it reads private parts of Node.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

export interface ConnectionsOptions {
  /** Begins to process a request. */
  readonly serve: (request: IncomingMessage, response: ServerResponse) => void;
  readonly onClosed: (socket: Socket) => void;
  /** Called when a connection is ended because waiting requests of all connections take too much memory. */
  readonly onTooManyWaiting: (socket: Socket) => void;
  /** Memory for waiting requests. {@link MAX_WAITING_BYTES} by default. */
  readonly maxWaitingBytes?: number;
}

/** Memory for requests that wait for an earlier one of their connection, over all connections. */
const MAX_WAITING_BYTES = 64 * 1024 ** 2;

/** Memory of a waiting request without its body: 6.6 KB were measured. */
const REQUEST_BYTES = 8 * 1024;

/** Bytes that Node reads from a connection at a time; they may be in the body of the last waiting request. */
const READ_BYTES = 64 * 1024;

interface Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
}

interface Connection {
  isAtWork: boolean;
  /** Requests that arrived before the response to an earlier one had left; null until the first. */
  waiting: Exchange[] | null;
}

export class Connections {
  readonly #options: ConnectionsOptions;
  /** All connections. Node's own list of idle ones lacks those without a request yet, such as browsers open in advance, and
   *  WebSockets: the server would wait for both at its end. */
  readonly #open = new Map<Socket, Connection>();
  readonly #maxWaitingBytes: number;
  #waitingBytes = 0;
  #isClosing = false;

  constructor(options: ConnectionsOptions) {
    this.#options = options;
    this.#maxWaitingBytes = options.maxWaitingBytes ?? MAX_WAITING_BYTES;
  }

  get sockets(): Iterable<Socket> {
    return this.#open.keys();
  }

  has(socket: Socket): boolean {
    return this.#open.has(socket);
  }

  /** Whether one of its requests is in progress, or it has become a WebSocket. */
  isAtWork(socket: Socket): boolean {
    return this.#open.get(socket)?.isAtWork === true;
  }

  /** Whether the hub itself has paused reading it. */
  isHeld(socket: Socket): boolean {
    return (this.#open.get(socket)?.waiting?.length ?? 0) > 0;
  }

  /** A connection was opened, or returns after it has offered another protocol. */
  opened(socket: Socket): void {
    const known = this.#open.get(socket);
    if (known) {
      known.isAtWork = false;
      return;
    }
    this.#open.set(socket, { isAtWork: false, waiting: null });
    socket.once('close', () => this.#closed(socket));
  }

  /** Replaced by the TLS socket over it. */
  forget(socket: Socket): void {
    this.#open.delete(socket);
  }

  /** A connection becomes a WebSocket. One with requests in progress is ended: their responses would mix with its frames. */
  upgraded(socket: Socket): void {
    const connection = this.#open.get(socket);
    if (!connection || connection.isAtWork) socket.destroy();
    else connection.isAtWork = true;
  }

  /** Processes a request, now or after those before it on its connection. */
  take(request: IncomingMessage, response: ServerResponse): void {
    const { socket } = request;
    const connection = this.#open.get(socket);
    // A connection that ends after its response takes no further request.
    if (!connection || !socket.writable) return;
    if (connection.isAtWork) this.#wait(connection, socket, { request, response });
    else this.#begin(connection, { request, response });
  }

  /** Ends idle connections now, and each other one after its current request. */
  close(): void {
    this.#isClosing = true;
    for (const [socket, { isAtWork }] of this.#open) if (!isAtWork) socket.destroySoon();
  }

  destroy(): void {
    for (const socket of this.#open.keys()) socket.destroy();
  }

  #begin(connection: Connection, { request, response }: Exchange): void {
    connection.isAtWork = true;
    response.once('close', () => this.#onResponded(connection, request.socket));
    this.#options.serve(request, response);
  }

  #onResponded(connection: Connection, socket: Socket): void {
    connection.isAtWork = false;
    if (this.#isClosing) {
      socket.destroySoon();
      return;
    }
    const { waiting } = connection;
    if (waiting === null || waiting.length === 0 || !socket.writable) return;
    const next = waiting.shift() as Exchange;
    this.#waitingBytes -= REQUEST_BYTES;
    if (waiting.length === 0) this.#waitingBytes -= READ_BYTES;
    this.#begin(connection, next);
    if (waiting.length === 0) socket.resume();
  }

  #wait(connection: Connection, socket: Socket, exchange: Exchange): void {
    if (connection.waiting === null) {
      connection.waiting = [];
      // Node resumes the socket at the end of each request and when a response has left.
      socket.on('resume', () => {
        if (this.isHeld(socket)) socket.pause();
      });
    }
    const { waiting } = connection;
    const bytes = REQUEST_BYTES + (waiting.length === 0 ? READ_BYTES : 0);
    if (this.#waitingBytes + bytes > this.#maxWaitingBytes) {
      this.#options.onTooManyWaiting(socket);
      socket.destroy();
      return;
    }
    this.#waitingBytes += bytes;
    waiting.push(exchange);
    socket.pause();
  }

  #closed(socket: Socket): void {
    const waiting = this.#open.get(socket)?.waiting;
    if (waiting && waiting.length > 0) this.#waitingBytes -= waiting.length * REQUEST_BYTES + READ_BYTES;
    this.#open.delete(socket);
    this.#options.onClosed(socket);
  }
}
