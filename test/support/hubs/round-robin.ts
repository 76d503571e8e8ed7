/** A load balancer before the hubs of a test, which keeps no client at one hub: each request goes to the next hub, on a kept connection,
 *  too, and each agent that joins as well. It passes on everything as it is. */
import { createServer, type IncomingMessage, request, type Server, type ServerResponse } from 'node:http';
import {
  type AddressInfo,
  connect,
  createServer as createTcpServer,
  type Server as TcpServer,
} from 'node:net';
import type { Duplex } from 'node:stream';

export interface RoundRobin {
  /** `http://127.0.0.1:49152` */
  readonly address: string;
  close(): Promise<void>;
}

/** Hubs decide what is too large or too slow. */
const NO_LIMITS = {
  maxHeaderSize: 1024 * 1024,
  requestTimeout: 0,
  headersTimeout: 0,
  keepAliveTimeout: 0,
  requireHostHeader: false,
};

/** Starts one before hubs at addresses like `http://127.0.0.1:8080`, on this port or a free one. Of hubs with TLS, each connection goes to
 *  the next one. */
export async function startRoundRobin(addresses: readonly string[], port = 0): Promise<RoundRobin> {
  const ports = addresses.map((address) => Number(new URL(address).port));
  const [first = ''] = addresses;
  const sockets = new Set<Duplex>();
  const server = first.startsWith('https:') ? tcpBalancer(ports) : httpBalancer(ports);
  server.on('connection', (socket: Duplex) => {
    sockets.add(socket);
    socket.on('error', () => undefined).once('close', () => sockets.delete(socket));
  });
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
  const url = new URL(first);
  url.port = String((server.address() as AddressInfo).port);
  return {
    address: url.origin,
    close: async () => {
      const closed = new Promise((resolve) => server.close(resolve));
      for (const socket of sockets) socket.destroy();
      await closed;
    },
  };
}

function tcpBalancer(ports: readonly number[]): TcpServer {
  const next = turns(ports);
  return createTcpServer((near) => tunnel(near, next(), Buffer.alloc(0)));
}

function httpBalancer(ports: readonly number[]): Server {
  const next = turns(ports);
  // The agents of a test join at other hubs than those that its first requests ask.
  const nextToJoin = turns([...ports.slice(1), ...ports.slice(0, 1)]);
  const pass = (near: IncomingMessage, answer: ServerResponse) => passOn(near, answer, next());
  return createServer(NO_LIMITS, pass)
    .on('checkContinue', pass)
    .on('checkExpectation', pass)
    .on('upgrade', (near: IncomingMessage, socket: Duplex, head: Buffer) =>
      tunnel(socket, nextToJoin(), Buffer.concat([headOf(near), head])),
    )
    .on('connect', (near: IncomingMessage, socket: Duplex, head: Buffer) =>
      tunnel(socket, next(), Buffer.concat([headOf(near), head])),
    )
    .on('clientError', ({ rawPacket }: Error & { readonly rawPacket?: Buffer }, socket: Duplex) => {
      // Hubs refuse what is no HTTP in their own words.
      if (rawPacket && socket.writable) tunnel(socket, next(), rawPacket);
      else socket.destroy();
    });
}

function turns(ports: readonly number[]): () => number {
  let turn = 0;
  return () => ports[turn++ % ports.length] ?? 0;
}

function passOn(near: IncomingMessage, answer: ServerResponse, port: number): void {
  const { method, url: path } = near;
  const far = request({ host: '127.0.0.1', port, method, path, agent: false, setHost: false });
  for (const [name, values] of linesByName(near.rawHeaders)) far.setHeader(name, values);
  const hasBody = 'content-length' in near.headers || 'transfer-encoding' in near.headers;
  if (hasBody) far.flushHeaders();
  else far.removeHeader('transfer-encoding');
  far.once('continue', () => answer.writeContinue());
  far.once('response', (response) => {
    answer.sendDate = false;
    // A hub that refuses a body closes slowly; this one reads the rest.
    const headers = near.complete ? response.rawHeaders : withoutConnection(response.rawHeaders);
    answer.writeHead(response.statusCode ?? 502, response.statusMessage, headers);
    answer.flushHeaders();
    response.pipe(answer);
    response.once('error', () => answer.destroy());
    response.once('end', () => {
      near.unpipe(far);
      near.resume();
    });
  });
  far.on('error', () => {
    if (!answer.headersSent) answer.destroy();
  });
  answer.once('close', () => {
    if (!answer.writableFinished) far.destroy();
  });
  near.pipe(far);
}

function withoutConnection(rawHeaders: readonly string[]): string[] {
  return rawHeaders.filter((_, at) => rawHeaders[at - (at % 2)]?.toLowerCase() !== 'connection');
}

/** The values of each name, which is spelled as in its first line. */
function linesByName(rawHeaders: readonly string[]): Iterable<[string, string[]]> {
  const lines = new Map<string, [string, string[]]>();
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const [name = '', value = ''] = rawHeaders.slice(at, at + 2);
    const line = lines.get(name.toLowerCase()) ?? [name, []];
    line[1].push(value);
    lines.set(name.toLowerCase(), line);
  }
  return lines.values();
}

/** The request line and headers, as they came. */
function headOf({ method, url, httpVersion, rawHeaders }: IncomingMessage): Buffer {
  const lines = [`${method} ${url} HTTP/${httpVersion}`];
  for (let at = 0; at < rawHeaders.length; at += 2) lines.push(`${rawHeaders[at]}: ${rawHeaders[at + 1]}`);
  return Buffer.from(`${lines.join('\r\n')}\r\n\r\n`, 'latin1');
}

/** Joins a connection with one to a hub, which begins with these bytes. */
function tunnel(near: Duplex, port: number, begin: Buffer): void {
  const far = connect({ port, host: '127.0.0.1', noDelay: true });
  far.on('error', () => near.destroy());
  near.on('error', () => far.destroy());
  near.once('close', () => far.destroy());
  far.once('close', () => near.end());
  far.write(begin);
  near.pipe(far).pipe(near);
}
