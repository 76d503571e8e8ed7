/** The simulated network between agents and hub: connections, and requests beside them. Connections are cut, half open, held up
 *  and released. */
import type { Transport } from '@workbench-hub/shared/agent-protocol/link';
import { type BrokenWire, Connection, type Handlers } from './connection.js';
import type { Process } from './process.js';
import type { World } from './world.js';

/** Accepts a connection of an agent. */
export type Accept = (carry: (handlers: Handlers) => Transport, agentId: string) => void;

/** The way between an agent and a hub that its requests take beside their connection. */
interface RequestWay {
  readonly agentId: string;
  readonly address: string;
}

/** Ends of a request before its time. */
interface Interruption {
  readonly signal: AbortSignal;
  /** Error of a request that the network does not carry. */
  readonly unreachable: (why: string) => Error;
}

export class Network {
  readonly #world: World;
  readonly #wire: BrokenWire;
  #connections: Connection[] = [];
  /** By address. */
  readonly #listening = new Map<string, { readonly process: Process; readonly accept: Accept }>();
  /** Agents that cannot reach the hub: new connections and requests time out. */
  readonly #cutOff = new Set<string>();

  constructor(world: World, wire: BrokenWire = {}) {
    this.#world = world;
    this.#wire = wire;
  }

  listen(address: string, process: Process, accept: Accept): void {
    this.#listening.set(address, { process, accept });
    process.onEnd(() => {
      if (this.#listening.get(address)?.process === process) this.#listening.delete(address);
    });
  }

  /** New connections to this hub are refused from now on. */
  refuseConnections(address: string): void {
    this.#listening.delete(address);
  }

  /** Connections that at least one side considers open. */
  get open(): Connection[] {
    this.#connections = this.#connections.filter((connection) => !connection.over);
    return this.#connections;
  }

  of(agentId: string): Connection[] {
    return this.open.filter((connection) => connection.agentId === agentId);
  }

  cutOff(agentId: string): void {
    this.#cutOff.add(agentId);
    for (const connection of this.of(agentId)) connection.hold('both');
  }

  heal(agentId: string): void {
    this.#cutOff.delete(agentId);
    for (const connection of this.of(agentId)) connection.release();
  }

  /** Cuts an agent off from one hub. */
  cutOffFrom(agentId: string, address: string, hub: Process): void {
    this.#cutOff.add(`${agentId} ${address}`);
    for (const connection of this.of(agentId)) if (connection.hub.process === hub) connection.hold('both');
  }

  healFrom(agentId: string, address: string): void {
    this.#cutOff.delete(`${agentId} ${address}`);
    if (this.#cutOff.has(agentId)) return;
    for (const connection of this.of(agentId)) connection.release();
  }

  #isCutOff(agentId: string, address: string): boolean {
    return this.#cutOff.has(agentId) || this.#cutOff.has(`${agentId} ${address}`);
  }

  /** Connects an agent to the hub; rejects with network errors. */
  dial(
    agentId: string,
    address: string,
    agent: Process,
    handlers: Handlers,
    timeoutMs: number,
  ): Promise<Transport> {
    return new Promise((resolve, reject) => {
      const timeOut = () =>
        agent.after(timeoutMs, () => reject(new Error('Opening handshake has timed out')));
      if (this.#isCutOff(agentId, address)) return void timeOut();
      agent.after(this.#world.between(1, 20), () => {
        const hub = this.#listening.get(address);
        if (hub?.process.isHalted) return void timeOut();
        if (!hub) return reject(Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' }));
        const connection = new Connection(this.#world, agentId, hub.process, agent, this.#wire);
        this.#connections.push(connection);
        connection.agent.handlers = handlers;
        hub.accept((handlersOfHub) => {
          connection.hub.handlers = handlersOfHub;
          return connection.transport('hub');
        }, agentId);
        resolve(connection.transport('agent'));
      });
    });
  }

  /** A request body as its receiver reads it: in delayed pieces until the connection breaks. Then it throws the error of
   *  `unreachable`; earlier pieces have arrived. */
  async *body(
    { agentId, address }: RequestWay,
    { sender, receiver }: { readonly sender: Process; readonly receiver: Process },
    content: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
    { signal, unreachable }: Interruption,
  ): AsyncGenerator<Uint8Array> {
    const world = this.#world;
    let fail!: () => void;
    const broken = new Promise<never>((_, reject) => {
      fail = () => void world.after(5, () => reject(unreachable('connection reset')));
    });
    broken.catch(() => undefined);
    if (sender.alive) sender.onEnd(fail);
    else fail();
    const ignore = () => signal.removeEventListener('abort', fail);
    // A receiver that has ended never gets to the end of this function.
    if (receiver.alive) {
      signal.addEventListener('abort', fail, { once: true });
      receiver.onEnd(ignore);
    }
    const pieces = Symbol.asyncIterator in content ? content : allOf(content);
    const reading = pieces[Symbol.asyncIterator]();
    try {
      for (;;) {
        const { value, done } = await Promise.race([reading.next(), broken]);
        if (done) return;
        await receiver.wait(world.between(0, 8));
        if (signal.aborted) throw unreachable('connection reset');
        if (this.#isCutOff(agentId, address)) {
          await receiver.wait(10_000);
          throw unreachable('timed out');
        }
        if (world.turbulent && world.happens(0.05)) {
          world.fault('transfer broken', agentId);
          throw unreachable('connection reset');
        }
        yield value;
      }
    } finally {
      ignore();
    }
  }

  /** One request of an agent beside its connection, which `serve` performs in the hub. Rejects with the error of
   *  `unreachable` when no response arrives, and with the signal's reason. */
  request<T>(
    { agentId, address }: RequestWay,
    agent: Process,
    serve: () => Promise<T>,
    { signal, unreachable }: Interruption,
  ): Promise<T> {
    if (signal.aborted) return Promise.reject(signal.reason);
    let onAbort!: () => void;
    const answer = new Promise<T>((resolve, reject) => {
      const fail = (why: string) => reject(unreachable(why));
      onAbort = () => reject(signal.reason);
      signal.addEventListener('abort', onAbort, { once: true });
      agent.after(this.#world.between(1, 30), () => {
        const hub = this.#listening.get(address);
        if (this.#isCutOff(agentId, address) || hub?.process.isHalted) {
          agent.after(10_000, () => fail('timed out'));
          return;
        }
        if (!hub) return fail('ECONNREFUSED');
        if (signal.aborted) return;
        hub.process.onEnd(() => this.#world.after(5, () => agent.alive && fail('connection reset')));
        serve().then(
          (result) => agent.after(this.#world.between(1, 30), () => resolve(result)),
          (error: unknown) => agent.after(this.#world.between(1, 30), () => reject(error)),
        );
      });
    });
    return answer.finally(() => signal.removeEventListener('abort', onAbort));
  }
}

async function* allOf(pieces: Iterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  yield* pieces;
}
