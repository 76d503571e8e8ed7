/**
 * Connections of clients. The requests of one connection are worked on one after the other, in the order in which they came:
 * a client that sends many at once (HTTP/1.1 pipelining, RFC 9112 section 9.3.2) and reads no answer costs the memory of one
 * answer, and a request begins only when the answers before it have left. While requests wait, the hub reads no more of the
 * connection.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

export interface ConnectionsOptions {
  /** Begins to work on a request. */
  readonly serve: (request: IncomingMessage, response: ServerResponse) => void;
  readonly onClosed: (socket: Socket) => void;
  /** Hears of a connection that is ended because the requests of all connections that wait take too much memory. */
  readonly onTooManyWaiting: (socket: Socket) => void;
  /** Memory that waiting requests may take. {@link MAX_WAITING_BYTES} when left out. */
  readonly maxWaitingBytes?: number;
}

/** Memory for the requests that wait for an earlier one of their connection, over all connections. */
const MAX_WAITING_BYTES = 64 * 1024 ** 2;

/** Memory of a request that waits, without its body: 6.6 KB were measured. */
const REQUEST_BYTES = 8 * 1024;

/** Bytes that Node reads from a connection at a time, so that they may lie in the body of the last request that waits. */
const READ_BYTES = 64 * 1024;

interface Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
}

interface Connection {
  isAtWork: boolean;
  /** Requests that came before the answer to an earlier one had left; null as long as none ever did. */
  waiting: Exchange[] | null;
}

export class Connections {
  readonly #options: ConnectionsOptions;
  /** Node's own list of idle connections has none on which no request has come yet, such as browsers open in advance, and
   *  forgets those that became a WebSocket: both would be waited for at the end. So each is kept here. */
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

  /** Whether a request of it is worked on, or it has become a WebSocket. */
  isAtWork(socket: Socket): boolean {
    return this.#open.get(socket)?.isAtWork === true;
  }

  /** Whether the hub itself has stopped reading it. */
  isHeld(socket: Socket): boolean {
    return (this.#open.get(socket)?.waiting?.length ?? 0) > 0;
  }

  /** A connection was opened, or has offered another protocol in vain and comes a second time. */
  opened(socket: Socket): void {
    const known = this.#open.get(socket);
    if (known) {
      known.isAtWork = false;
      return;
    }
    this.#open.set(socket, { isAtWork: false, waiting: null });
    socket.once('close', () => this.#closed(socket));
  }

  /** A bare socket is known by the TLS socket over it from now on. */
  forget(socket: Socket): void {
    this.#open.delete(socket);
  }

  /** A connection becomes a WebSocket. One with requests under way is ended: their answers would get among its frames. */
  upgraded(socket: Socket): void {
    const connection = this.#open.get(socket);
    if (!connection || connection.isAtWork) socket.destroy();
    else connection.isAtWork = true;
  }

  /** Works on a request, now or when those before it on its connection are answered. */
  take(request: IncomingMessage, response: ServerResponse): void {
    const { socket } = request;
    const connection = this.#open.get(socket);
    if (!connection || socket.destroyed) return;
    if (connection.isAtWork) this.#wait(connection, socket, { request, response });
    else this.#begin(connection, { request, response });
  }

  /** Ends those that are idle now, and each other one after the request that is worked on. */
  close(): void {
    this.#isClosing = true;
    for (const [socket, { isAtWork }] of this.#open) if (!isAtWork) socket.destroySoon();
  }

  destroy(): void {
    for (const socket of this.#open.keys()) socket.destroy();
  }

  #begin(connection: Connection, { request, response }: Exchange): void {
    connection.isAtWork = true;
    response.once('close', () => this.#answered(connection, request.socket));
    this.#options.serve(request, response);
  }

  #answered(connection: Connection, socket: Socket): void {
    connection.isAtWork = false;
    if (this.#isClosing) {
      socket.destroySoon();
      return;
    }
    const { waiting } = connection;
    // One that ends after its answer takes no further request.
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
      // Node resumes the socket at the end of each request and when an answer has left.
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
