/** Requests sent unchanged: `fetch` would normalize the path and refuse half of the headers. */
import { Agent, request } from 'node:http';

export interface RawRequest {
  readonly method: string;
  /** The target of the request line, usually path and query. */
  readonly target: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Buffer | undefined;
}

export interface RawAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly text: string;
}

/** Longest time of a request of the tests; a longer one hangs. */
const DEADLINE_MS = 60_000;

/** A sender of requests over kept connections; `close` ends them. */
export function rawSender(address: string) {
  const agent = new Agent({ keepAlive: true, maxSockets: 8 });
  const { hostname, port } = new URL(address);
  return {
    send: ({ method, target, headers = {}, body }: RawRequest): Promise<RawAnswer> =>
      new Promise((resolve, reject) => {
        const signal = AbortSignal.timeout(DEADLINE_MS);
        const outgoing = request({ agent, hostname, port, method, path: target, headers, signal });
        outgoing.once('error', reject);
        outgoing.once('response', (incoming) => {
          const pieces: Buffer[] = [];
          const isEndless = incoming.headers['content-type'] === 'text/event-stream';
          const answer = () =>
            resolve({
              status: incoming.statusCode ?? 0,
              headers: incoming.headers,
              text: Buffer.concat(pieces).toString(),
            });
          incoming.on('data', (piece: Buffer) => {
            pieces.push(piece);
            if (!isEndless) return;
            answer();
            incoming.destroy();
          });
          incoming.once('error', reject);
          incoming.once('end', answer);
        });
        if (body !== undefined) outgoing.setHeader('content-length', Buffer.byteLength(body));
        outgoing.end(body);
      }),
    close: () => agent.destroy(),
  };
}
