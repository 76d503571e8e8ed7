/** A network that takes so many bytes a second from clients, and that can go down. */
import { connect, createServer, type Socket } from 'node:net';

export interface SlowProxy {
  readonly address: string;
  /** Cuts all connections, and takes no more. */
  goDown(): void;
  comeBack(): void;
  stop(): Promise<void>;
}

export async function startSlowProxy(target: string, bytesPerSecond: number): Promise<SlowProxy> {
  const { hostname, port } = new URL(target);
  const open = new Set<Socket>();
  let isDown = false;
  const server = createServer((client) => {
    if (isDown) {
      client.resetAndDestroy();
      return;
    }
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
      client.pause();
      upstream.write(piece);
      setTimeout(() => client.resume(), (piece.length / bytesPerSecond) * 1000);
    });
    client.on('end', () => upstream.end());
    upstream.pipe(client);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port: own } = server.address() as { port: number };
  const cutAll = () => {
    for (const socket of open) socket.resetAndDestroy();
  };
  return {
    address: `http://127.0.0.1:${own}`,
    goDown: () => {
      isDown = true;
      cutAll();
    },
    comeBack: () => {
      isDown = false;
    },
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        cutAll();
      }),
  };
}
