/** A TCP proxy between agents and a hub that a test can stop or cut. */
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

export interface Watch {
  readonly to: 'agent' | 'hub';
  /** Bytes that may still pass in this direction, on all connections together. */
  readonly afterBytes: number;
}

export class Valve {
  readonly #hubPort: number;
  readonly #sockets = new Set<Socket>();
  readonly #server = createServer((socket) => this.#join(socket));
  #isShut = false;
  #endHeld: () => void = () => undefined;
  #watch: { readonly watch: Watch; leftBytes: number; readonly reached: () => void } | undefined;

  private constructor(hubPort: number) {
    this.#hubPort = hubPort;
  }

  static async open(hubUrl: string): Promise<Valve> {
    const valve = new Valve(Number(new URL(hubUrl).port));
    valve.#server.listen(0, '127.0.0.1');
    await once(valve.#server, 'listening');
    return valve;
  }

  /** The address under which agents find the hub. */
  get address(): string {
    return `ws://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** Resolves when the bytes have passed. The connection of the last of them then stalls; all others go on. */
  watch(watch: Watch): Promise<void> {
    return new Promise((reached) => {
      this.#watch = { watch, leftBytes: watch.afterBytes, reached };
    });
  }

  /** Ends the stalled connection. */
  cut(): void {
    this.#endHeld();
  }

  /** Ends all connections, and each further one until {@link release}. */
  shut(): void {
    this.#isShut = true;
    for (const socket of this.#sockets) socket.destroy();
  }

  release(): void {
    this.#isShut = false;
  }

  async close(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    this.#server.close();
    await once(this.#server, 'close');
  }

  #join(agent: Socket): void {
    if (this.#isShut) {
      agent.destroy();
      return;
    }
    const hub = connect(this.#hubPort, '127.0.0.1');
    const end = () => {
      for (const socket of [agent, hub]) {
        socket.destroy();
        this.#sockets.delete(socket);
      }
    };
    for (const socket of [agent, hub]) {
      this.#sockets.add(socket);
      socket.on('error', end).on('close', end);
    }
    this.#forward(agent, hub, 'hub', end);
    this.#forward(hub, agent, 'agent', end);
  }

  #forward(from: Socket, into: Socket, to: Watch['to'], end: () => void): void {
    let isHeld = false;
    from.on('data', (bytes: Buffer) => {
      if (isHeld) return;
      const watched = this.#watch?.watch.to === to ? this.#watch : undefined;
      if (watched && bytes.length >= watched.leftBytes) {
        this.#watch = undefined;
        isHeld = true;
        into.write(bytes.subarray(0, watched.leftBytes), () => {
          this.#endHeld = end;
          watched.reached();
        });
        return;
      }
      if (watched) watched.leftBytes -= bytes.length;
      if (!into.write(bytes)) {
        from.pause();
        into.once('drain', () => from.resume());
      }
    });
  }
}
