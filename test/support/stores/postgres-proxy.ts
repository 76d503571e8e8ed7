/** A proxy between a hub and PostgreSQL, which breaks connections as networks do and drops notifications as poolers do. */
import { connect, createServer, type Socket } from 'node:net';

/** Type of the message NotificationResponse. */
const NOTIFICATION = 'A'.charCodeAt(0);

export class PostgresProxy {
  /** Drops notifications on their way to the client. */
  dropsNotifications = false;
  /** Notifications that were dropped, as the server sent them. */
  readonly dropped: string[] = [];
  /** Keeps back all that servers send, as one that hangs. */
  isHanging = false;
  /** Port that new connections lead to. */
  target: number;
  #accepts = true;
  readonly #pairs = new Set<{ readonly near: Socket; readonly far: Socket }>();
  readonly #kept = new Set<Socket>();
  readonly #server;

  private constructor(targetPort: number) {
    this.target = targetPort;
    this.#server = createServer((near) => {
      if (!this.#accepts) {
        near.resetAndDestroy();
        return;
      }
      const far = connect(this.target, '127.0.0.1');
      const pair = { near, far };
      this.#pairs.add(pair);
      for (const socket of [near, far]) {
        socket.setNoDelay(true);
        socket.on('error', () => undefined);
      }
      near.pipe(far);
      const pass = passing((notification) => {
        if (this.dropsNotifications) this.dropped.push(notification.toString());
        return this.dropsNotifications;
      });
      far.on('data', (piece: Buffer) => {
        const messages = pass(piece);
        if (!this.isHanging) for (const message of messages) near.write(message);
      });
      far.once('close', () => near.destroy());
      near.once('close', () => {
        if (this.#pairs.delete(pair)) far.destroy();
      });
    });
  }

  static async listen(targetPort: number): Promise<PostgresProxy> {
    const proxy = new PostgresProxy(targetPort);
    await new Promise<void>((resolve) => proxy.#server.listen(0, '127.0.0.1', resolve));
    return proxy;
  }

  /** The same address by way of this proxy. */
  through(url: string): string {
    const address = new URL(url);
    address.port = `${(this.#server.address() as { port: number }).port}`;
    return address.href;
  }

  /** Breaks all connections. `tellsServer`: false leaves the server without the news, as a host does that lost its power. */
  cut({ tellsServer = true } = {}): void {
    for (const pair of this.#pairs) {
      if (!tellsServer) {
        this.#pairs.delete(pair);
        pair.near.unpipe(pair.far);
        this.#kept.add(pair.far);
      }
      pair.near.resetAndDestroy();
    }
  }

  /** Refuses new connections, or accepts them again. */
  accept(accepts: boolean): void {
    this.#accepts = accepts;
  }

  async close(): Promise<void> {
    this.cut();
    for (const socket of this.#kept) socket.destroy();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}

/** Splits what a server sends into messages: a type of one byte, then the length of the rest in four. */
function passing(drops: (notification: Buffer) => boolean): (piece: Buffer) => Buffer[] {
  let rest = Buffer.alloc(0);
  return (piece) => {
    rest = Buffer.concat([rest, piece]);
    const messages: Buffer[] = [];
    while (rest.length >= 5 && rest.length > rest.readUInt32BE(1)) {
      const length = 1 + rest.readUInt32BE(1);
      const message = rest.subarray(0, length);
      if (message[0] !== NOTIFICATION || !drops(message)) messages.push(message);
      rest = rest.subarray(length);
    }
    return messages;
  };
}
