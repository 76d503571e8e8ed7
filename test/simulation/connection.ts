/** One simulated connection between an agent and the hub: it delivers frames in order, delayed, or never. */
import type { Transport } from '@workbench-hub/shared/agent-protocol/link';
import type { Process } from './process.js';
import type { World } from './world.js';

export interface Handlers {
  onFrame(frame: string): void;
  onClose(reason: string): void;
}

/** Part of the frame in which the hub tells an agent that it has joined. */
const WELCOME = '"type":"welcome"';

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
  #isJoined = false;

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

  /** Whether the hub has told the agent that it has joined. */
  get isJoined(): boolean {
    return this.#isJoined;
  }

  transport(side: 'hub' | 'agent'): Transport {
    const [self, out, back] =
      side === 'hub' ? [this.hub, this.toAgent, this.toHub] : [this.agent, this.toHub, this.toAgent];
    return {
      send: (frame) => {
        this.#isJoined ||= frame.includes(WELCOME);
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
      if (learnsAfterMs !== null) end.process.after(learnsAfterMs, () => end.told('connection reset'));
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
    to.process.whenRunning(() => this.#take(item, to, from, back));
  }

  #take(item: Item, to: End, from: End, back: Pipe): void {
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
