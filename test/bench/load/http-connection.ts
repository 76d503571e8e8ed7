/** An HTTP client of minimal cost, because it shares the machine with the server. One request at a time. */
import { connect, type Socket } from 'node:net';

export interface HttpRequest {
  readonly method: 'GET' | 'POST';
  readonly path: string;
  readonly body?: string;
}

export interface HttpAnswer {
  readonly status: number;
  readonly text: string;
  /** The server ends the connection after this. */
  readonly last: boolean;
}

interface Waiting {
  resolve(answer: HttpAnswer): void;
  reject(error: Error): void;
}

const END_OF_HEAD = '\r\n\r\n';

export class HttpConnection {
  readonly #port: number;
  #socket: Socket | undefined;
  #received: Buffer = Buffer.alloc(0);
  #waiting: Waiting | undefined;

  constructor(port: number) {
    this.#port = port;
  }

  /** Connects when there is no connection, or no longer. */
  request({ method, path, body = '' }: HttpRequest): Promise<HttpAnswer> {
    const socket = this.#socket ?? this.#connect();
    const content =
      method === 'GET'
        ? ''
        : `content-type: application/json\r\ncontent-length: ${Buffer.byteLength(body)}\r\n`;
    socket.write(`${method} ${path} HTTP/1.1\r\nhost: 127.0.0.1:${this.#port}\r\n${content}\r\n${body}`);
    return new Promise((resolve, reject) => {
      this.#waiting = { resolve, reject };
    });
  }

  close(): void {
    this.#socket?.destroy();
  }

  #connect(): Socket {
    const socket = connect({ port: this.#port, host: '127.0.0.1', noDelay: true });
    this.#socket = socket;
    this.#received = Buffer.alloc(0);
    socket.on('data', (data) => {
      this.#received = this.#received.length === 0 ? data : Buffer.concat([this.#received, data]);
      const answer = answerIn(this.#received);
      if (!answer) return;
      this.#received = Buffer.alloc(0);
      if (answer.last) forget();
      const waiting = this.#waiting;
      this.#waiting = undefined;
      waiting?.resolve(answer);
    });
    const forget = () => {
      if (this.#socket === socket) this.#socket = undefined;
    };
    // The server closes an idle connection with 408.
    socket.on('end', () => {
      if (!this.#waiting) forget();
    });
    let failure = new Error('the server closed the connection without an answer');
    socket.on('error', (error) => {
      failure = error;
    });
    socket.on('close', () => {
      if (this.#socket !== socket) return;
      forget();
      this.#waiting?.reject(failure);
      this.#waiting = undefined;
    });
    return socket;
  }
}

/** The complete response, or undefined as long as some of it is missing. */
export function answerIn(received: Buffer): HttpAnswer | undefined {
  const endOfHead = received.indexOf(END_OF_HEAD);
  if (endOfHead < 0) return undefined;
  const head = received.toString('latin1', 0, endOfHead);
  const status = Number(head.slice(9, 12));
  const last = /^connection: *close/im.test(head);
  const from = endOfHead + END_OF_HEAD.length;
  const length = /^content-length: *(\d+)/im.exec(head)?.[1];
  if (length !== undefined) {
    const end = from + Number(length);
    return received.length < end ? undefined : { status, text: received.toString('utf8', from, end), last };
  }
  if (!/^transfer-encoding: *chunked/im.test(head)) return { status, text: '', last };
  const text = chunksIn(received, from);
  return text === undefined ? undefined : { status, text, last };
}

function chunksIn(received: Buffer, from: number): string | undefined {
  const chunks: Buffer[] = [];
  for (let at = from; ; ) {
    const endOfSize = received.indexOf('\r\n', at);
    if (endOfSize < 0) return undefined;
    const size = Number.parseInt(received.toString('latin1', at, endOfSize), 16);
    const end = endOfSize + 2 + size + 2;
    if (received.length < end) return undefined;
    if (size === 0) return Buffer.concat(chunks).toString('utf8');
    chunks.push(received.subarray(endOfSize + 2, end - 2));
    at = end;
  }
}
