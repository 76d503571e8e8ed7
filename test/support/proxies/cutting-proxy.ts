/** A TCP proxy that cuts its connections after given numbers of bytes from the clients. */
import { connect, createServer, type Socket } from 'node:net';

export interface CuttingProxy {
  readonly address: string;
  /** Bytes that came from clients so far. */
  readonly sentBytes: number;
  /** Number of cuts so far. */
  readonly cuts: number;
  stop(): Promise<void>;
}

/** `cutsAt`: after so many bytes from clients, over all connections, the one that sends is cut; ascending. */
export async function startCuttingProxy(address: string, cutsAt: readonly number[]): Promise<CuttingProxy> {
  const { hostname, port } = new URL(address);
  const open = new Set<Socket>();
  let [sentBytes, cuts] = [0, 0];
  const server = createServer((client) => {
    const upstream = connect(Number(port), hostname);
    for (const socket of [client, upstream]) {
      open.add(socket);
      socket.on('error', () => undefined);
      socket.on('close', () => {
        open.delete(socket);
        client.destroy();
        upstream.destroy();
      });
    }
    client.on('data', (piece) => {
      sentBytes += piece.length;
      if (sentBytes >= (cutsAt[cuts] ?? Number.POSITIVE_INFINITY)) {
        cuts++;
        client.pause();
        upstream.unpipe(client).resume();
        // The bytes before the cut still arrive. The client notices the cut only then, so that it does not ask before they are read.
        upstream.prependOnceListener('close', () => client.resetAndDestroy());
        upstream.end();
        return;
      }
      if (!upstream.write(piece)) {
        client.pause();
        upstream.once('drain', () => client.resume());
      }
    });
    upstream.pipe(client);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port: own } = server.address() as { port: number };
  return {
    address: `http://127.0.0.1:${own}`,
    get sentBytes() {
      return sentBytes;
    },
    get cuts() {
      return cuts;
    },
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        for (const socket of open) socket.destroy();
      }),
  };
}
