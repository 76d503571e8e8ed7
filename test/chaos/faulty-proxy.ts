/** A TCP proxy in front of the hub that breaks connections on demand, in the ways in which networks do. */
import { type AddressInfo, createServer, type Server, Socket } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';

interface Pair {
  readonly near: Socket;
  readonly far: Socket;
}

/** Bytes that a slow connection passes at a time, and the interval. */
const TRICKLE_BYTES = 512;
const TRICKLE_EVERY_MS = 20;

export class FaultyProxy {
  readonly #server: Server;
  /** Port that new connections lead to. */
  targetPort: number;
  readonly #pairs = new Set<Pair>();
  #mode: 'PASS' | 'STALL' | 'SLOW' | 'REFUSE' = 'PASS';

  private constructor(targetPort: number) {
    this.targetPort = targetPort;
    this.#server = createServer({ allowHalfOpen: true }, (near) => this.#accept(near));
  }

  /** Listens on a free port of `host`, before what listens on `targetPort` of the loopback. */
  static async listen(host: string, targetPort: number): Promise<FaultyProxy> {
    const proxy = new FaultyProxy(targetPort);
    await new Promise<void>((resolve) => proxy.#server.listen(0, host, resolve));
    return proxy;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  /** Ends all connections at once, with a reset. */
  cut(): void {
    for (const { near, far } of this.#pairs) {
      near.resetAndDestroy();
      far.resetAndDestroy();
    }
  }

  /** Accepts no connection for this time, and ends the existing ones. */
  async refuse(forMs: number): Promise<void> {
    await this.#during('REFUSE', forMs, () => this.cut());
  }

  /** Passes nothing for this time; the connections stay. */
  async stall(forMs: number): Promise<void> {
    await this.#during('STALL', forMs);
  }

  /** Passes little for this time. */
  async slow(forMs: number): Promise<void> {
    await this.#during('SLOW', forMs);
  }

  /** Ends one direction of every connection; the other one stays open for this time. */
  async halfClose(towards: 'HUB' | 'CALLER', forMs: number): Promise<void> {
    const pairs = [...this.#pairs];
    for (const { near, far } of pairs) (towards === 'HUB' ? far : near).end();
    await pause(forMs);
    for (const { near, far } of pairs) {
      near.destroy();
      far.destroy();
    }
  }

  async close(): Promise<void> {
    this.cut();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  async #during(mode: 'STALL' | 'SLOW' | 'REFUSE', forMs: number, begin?: () => void): Promise<void> {
    this.#mode = mode;
    begin?.();
    await pause(forMs);
    this.#mode = 'PASS';
  }

  #accept(near: Socket): void {
    if (this.#mode === 'REFUSE') {
      near.resetAndDestroy();
      return;
    }
    const far = new Socket({ allowHalfOpen: true });
    const pair = { near, far };
    this.#pairs.add(pair);
    const end = () => {
      this.#pairs.delete(pair);
      near.destroy();
      far.destroy();
    };
    for (const socket of [near, far]) {
      socket.on('error', end);
      socket.on('close', end);
    }
    far.connect(this.targetPort, '127.0.0.1');
    void this.#carry(near, far);
    void this.#carry(far, near);
  }

  async #carry(from: Socket, to: Socket): Promise<void> {
    try {
      for await (const piece of from as AsyncIterable<Buffer>) {
        if (!(await this.#pass(piece, to))) return;
      }
      to.end();
    } catch {
      to.destroy(); // the other side has gone
    }
  }

  /** Passes a piece on, in parts or late as the mode has it by then; false when the socket takes no more. */
  async #pass(piece: Buffer, to: Socket): Promise<boolean> {
    for (let at = 0; at < piece.length; ) {
      while (this.#mode === 'STALL') await pause(TRICKLE_EVERY_MS);
      const isSlow = this.#mode === 'SLOW';
      const part = isSlow ? piece.subarray(at, at + TRICKLE_BYTES) : piece.subarray(at);
      at += part.length;
      if (to.destroyed || to.writableEnded) return false;
      if (!to.write(part)) await drained(to);
      if (isSlow) await pause(TRICKLE_EVERY_MS);
    }
    return true;
  }
}

function drained(socket: Socket): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      socket.off('drain', done).off('close', done);
      resolve();
    };
    socket.on('drain', done).on('close', done);
  });
}
