/** Proxies between a client and a hub. */
import { createServer as createHttpServer } from 'node:http';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';

/** A TCP proxy that ends the first connections once they have brought the client so many bytes. These bytes arrive, however
 *  slowly the client reads. */
export class CuttingProxy {
  /** Bytes that clients were sent, by all connections. */
  bytes = 0;
  cuts = 0;
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();

  private constructor(targetPort: number, cutAfterBytes: number, cuts: number) {
    this.#server = createServer((near) => {
      const far = connect(targetPort, '127.0.0.1');
      let passed = 0;
      for (const socket of [near, far]) {
        this.#sockets.add(socket);
        socket.on('error', () => undefined).once('close', () => this.#sockets.delete(socket));
      }
      near.pipe(far);
      far.on('data', (chunk: Buffer) => {
        passed += chunk.length;
        this.bytes += chunk.length;
        if (passed > cutAfterBytes && this.cuts < cuts) {
          this.cuts++;
          near.end(chunk);
          far.destroy();
        } else if (!near.write(chunk)) {
          far.pause();
          near.once('drain', () => far.resume());
        }
      });
      far.once('end', () => near.end());
    });
  }

  static async listen(targetPort: number, cutAfterBytes: number, cuts: number): Promise<CuttingProxy> {
    const proxy = new CuttingProxy(targetPort, cutAfterBytes, cuts);
    await new Promise<void>((resolve) => proxy.#server.listen(0, '127.0.0.1', resolve));
    return proxy;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async close(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}

export interface ConnectProxy {
  readonly url: string;
  /** Host and port of each tunnel that was asked for. */
  readonly tunnels: readonly string[];
  close(): Promise<void>;
}

/** A proxy of a company, which tunnels HTTPS (CONNECT). */
export async function startConnectProxy(): Promise<ConnectProxy> {
  const tunnels: string[] = [];
  const sockets = new Set<Socket>();
  const server = createHttpServer().on('connect', ({ url = '' }, socket) => {
    tunnels.push(url);
    const near = socket as Socket;
    const { hostname, port } = new URL(`http://${url}`);
    const far = connect(Number(port), hostname, () => {
      near.write('HTTP/1.1 200 Connection established\r\n\r\n');
      near.pipe(far).pipe(near);
    });
    for (const each of [near, far]) {
      sockets.add(each);
      each.on('error', () => near.destroy()).once('close', () => sockets.delete(each));
    }
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    tunnels,
    close: async () => {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
