/** The simulated network between agents and hub: connections that deliver frames in order, delayed, or never, and requests
 *  beside them. Connections are cut, half open, held up and released. */
import type { Transport } from '@workbench-hub/shared/agent-protocol/link';
import type { Process } from './process.js';
import type { World } from './world.js';

export interface Handlers {
  onFrame(frame: string): void;
  onClose(reason: string): void;
}

/** Accepts a connection of an agent. */
export type Accept = (carry: (handlers: Handlers) => Transport, agentId: string) => void;

type Item = { readonly frame: string } | { readonly close: string };

/** One direction of a connection. */
class Pipe {
  held = false;
  readonly #world: World;
  readonly #deliver: (item: Item) => void;
  #items: Item[] = [];
  #missed = 0;
  #bytes = 0;
  #latestMs = 0;
  #broken = false;

  constructor(world: World, deliver: (item: Item) => void) {
    this.#world = world;
    this.#deliver = deliver;
  }

  get bytes(): number {
    return this.#bytes;
  }

  push(item: Item, delayMs: number): void {
    if (this.#broken) return;
    this.#items.push(item);
    if ('frame' in item) this.#bytes += item.frame.length;
    this.#latestMs = Math.max(this.#latestMs, this.#world.nowMs + delayMs);
    this.#later(this.#latestMs - this.#world.nowMs);
  }

  /** Drops the frames that are under way. */
  drop(): void {
    this.#items = [];
    this.#bytes = 0;
  }

  /** Drops all frames from now on. */
  break(): void {
    this.drop();
    this.#broken = true;
  }

  release(): void {
    if (!this.held) return;
    this.held = false;
    for (; this.#missed > 0; this.#missed--) this.#later(0);
  }

  #later(delayMs: number): void {
    this.#world.after(delayMs, () => {
      if (this.held) {
        this.#missed++;
        return;
      }
      const item = this.#items.shift();
      if (!item) return;
      if ('frame' in item) this.#bytes -= item.frame.length;
      this.#deliver(item);
    });
  }
}

/** One side of a connection. */
class End {
  readonly process: Process;
  handlers: Handlers | undefined;
  /** True when this side sends nothing more. */
  closing = false;
  /** True when this side receives nothing more. */
  closed = false;

  constructor(process: Process) {
    this.process = process;
  }

  told(reason: string): void {
    if (this.closed) return;
    this.closed = this.closing = true;
    if (this.process.alive) this.handlers?.onClose(reason);
  }
}

/** A defect of the network, which breaks its guarantees. */
export interface BrokenWire {
  /** One frame in this many is lost, and the connection stays open. */
  readonly losesOneIn?: number;
}

export class Connection {
  readonly agentId: string;
  readonly hub: End;
  readonly agent: End;
  readonly #world: World;
  readonly toHub: Pipe;
  readonly toAgent: Pipe;

  readonly #wire: BrokenWire;

  constructor(world: World, agentId: string, hub: Process, agent: Process, wire: BrokenWire) {
    this.#world = world;
    this.#wire = wire;
    this.agentId = agentId;
    this.hub = new End(hub);
    this.agent = new End(agent);
    this.toHub = new Pipe(world, (item) => this.#deliver(item, this.hub, this.agent, this.toAgent));
    this.toAgent = new Pipe(world, (item) => this.#deliver(item, this.agent, this.hub, this.toHub));
    hub.onEnd(() => this.#died(this.hub));
    agent.onEnd(() => this.#died(this.agent));
  }

  get over(): boolean {
    return (this.hub.closed || !this.hub.process.alive) && (this.agent.closed || !this.agent.process.alive);
  }

  transport(side: 'hub' | 'agent'): Transport {
    const [self, out, back] =
      side === 'hub' ? [this.hub, this.toAgent, this.toHub] : [this.agent, this.toHub, this.toAgent];
    return {
      send: (frame) => {
        const { losesOneIn } = this.#wire;
        if (losesOneIn !== undefined && this.#world.random.oneIn(losesOneIn)) return;
        if (!self.closing && self.process.alive) out.push({ frame }, this.#delayMs());
      },
      close: (_code, reason) => {
        if (self.closing || !self.process.alive) return;
        self.closing = true;
        out.push({ close: reason }, this.#delayMs());
      },
      terminate: () => {
        if (!self.process.alive) return;
        out.drop();
        back.drop();
        out.push({ close: 'connection reset' }, this.#delayMs());
        self.closing = true;
        self.process.after(0, () => self.told('terminated'));
      },
      bufferedBytes: () => out.bytes,
    };
  }

  hold(direction: 'toHub' | 'toAgent' | 'both'): void {
    if (direction !== 'toAgent') this.toHub.held = true;
    if (direction !== 'toHub') this.toAgent.held = true;
  }

  release(): void {
    this.toHub.release();
    this.toAgent.release();
  }

  /** Cuts the connection: frames under way are lost, and each side learns of it after its delay, or never when that is
   *  null. */
  cut(hubLearnsAfterMs: number | null, agentLearnsAfterMs: number | null): void {
    for (const [end, learnsAfterMs, pipe] of [
      [this.hub, hubLearnsAfterMs, this.toHub],
      [this.agent, agentLearnsAfterMs, this.toAgent],
    ] as const) {
      pipe.break();
      if (learnsAfterMs !== null) this.#world.after(learnsAfterMs, () => end.told('connection reset'));
    }
  }

  /** Closes the connection as the operating system of an ended process does. */
  #died(end: End): void {
    if (end.closed) return;
    end.closed = end.closing = true;
    const pipe = end === this.hub ? this.toAgent : this.toHub;
    if (!this.#silentDeath) pipe.push({ close: 'connection closed' }, this.#delayMs());
  }

  #silentDeath = false;
  /** The machine of one side loses power: nothing closes the connection. */
  losePower(): void {
    this.#silentDeath = true;
  }

  #deliver(item: Item, to: End, from: End, back: Pipe): void {
    if (to.closed || !to.process.alive) return;
    if ('frame' in item) {
      to.handlers?.onFrame(item.frame);
      return;
    }
    to.told(item.close);
    // The other side of the close.
    if (from.closing && !from.closed && from.process.alive) back.push({ close: item.close }, this.#delayMs());
  }

  #delayMs(): number {
    const { random } = this.#world;
    return random.oneIn(20) ? this.#world.between(20, 400) : this.#world.between(0, 8);
  }
}

export class Network {
  readonly #world: World;
  readonly #wire: BrokenWire;
  #connections: Connection[] = [];
  #listening: { readonly process: Process; readonly accept: Accept } | null = null;
  /** Agents that cannot reach the hub: new connections and requests time out. */
  readonly #cutOff = new Set<string>();

  constructor(world: World, wire: BrokenWire = {}) {
    this.#world = world;
    this.#wire = wire;
  }

  listen(process: Process, accept: Accept): void {
    this.#listening = { process, accept };
    process.onEnd(() => {
      if (this.#listening?.process === process) this.#listening = null;
    });
  }

  /** New connections are refused from now on. */
  refuseConnections(): void {
    this.#listening = null;
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

  /** Connects an agent to the hub; rejects with network errors. */
  dial(agentId: string, agent: Process, handlers: Handlers, timeoutMs: number): Promise<Transport> {
    return new Promise((resolve, reject) => {
      if (this.#cutOff.has(agentId)) {
        agent.after(timeoutMs, () => reject(new Error('Opening handshake has timed out')));
        return;
      }
      agent.after(this.#world.between(1, 20), () => {
        const hub = this.#listening;
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
    agentId: string,
    { sender, receiver }: { readonly sender: Process; readonly receiver: Process },
    content: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
    signal: AbortSignal,
    unreachable: (why: string) => Error,
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
        if (this.#cutOff.has(agentId)) {
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
    agentId: string,
    agent: Process,
    serve: () => Promise<T>,
    signal: AbortSignal,
    unreachable: (why: string) => Error,
  ): Promise<T> {
    if (signal.aborted) return Promise.reject(signal.reason);
    let onAbort!: () => void;
    const answer = new Promise<T>((resolve, reject) => {
      const fail = (why: string) => reject(unreachable(why));
      onAbort = () => reject(signal.reason);
      signal.addEventListener('abort', onAbort, { once: true });
      agent.after(this.#world.between(1, 30), () => {
        const hub = this.#listening;
        if (this.#cutOff.has(agentId)) {
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
