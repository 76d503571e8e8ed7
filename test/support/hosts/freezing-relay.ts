/** A relay to a port of this machine, whose connections can hang as those of a broken network do. */
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

export interface FreezingRelay {
  readonly port: number;
  /** Number of the connections that it ever took. */
  count(): number;
  /** Lets what is open now stay open, without a byte from now on. Later connections go through. */
  freeze(): void;
  close(): void;
}

/** Starts a relay to this port. */
export async function freezingRelay(target: number): Promise<FreezingRelay> {
  const open = new Set<Socket>();
  let taken = 0;
  const server = createServer((inside) => {
    taken++;
    const outside = connect(target, '127.0.0.1');
    for (const [one, other] of [
      [inside, outside],
      [outside, inside],
    ] as const) {
      open.add(one);
      one.on('error', () => other.destroy()).on('close', () => open.delete(one));
      one.pipe(other);
    }
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    count: () => taken,
    freeze() {
      for (const socket of open) socket.unpipe().pause();
    },
    close() {
      for (const socket of open) socket.destroy();
      server.close();
    },
  };
}
