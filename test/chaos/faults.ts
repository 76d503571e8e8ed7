/** The faults of a run, with their targets and durations. */
import { setTimeout as pause } from 'node:timers/promises';
import type { SeededRandom } from '../support/random.js';
import { type Cluster, LONG_PAUSE_MS, type NamedLink, signal } from './cluster.js';
import type { ChaosDatabase } from './database.js';
import type { SmallDisk } from './environment.js';
import type { FaultyProxy } from './faulty-proxy.js';
import type { Host } from './host.js';

interface Fault {
  readonly kind: string;
  /** Two faults do not strike the same target at once. */
  readonly target: string;
  /** Other targets that it strikes as well. */
  readonly alsoStrikes?: readonly string[];
  /** Resolves when the fault is over. */
  strike(): Promise<void>;
}

/** Hours from `least` to below `least + more`. */
interface Hours {
  readonly least: number;
  readonly more: number;
}

/** Mean interval between two faults. */
const EVERY_MS = { least: 300, more: 2200 };
/** That of several hubs, so that those that start can join the others before the next fault. */
const EVERY_MS_OF_SEVERAL = { least: 300, more: 4700 };
const HOUR_MS = 3_600_000;
/** Hours by which clocks are set ahead of the true time, or behind it. */
const CLOCK_H: Hours = { least: -24, more: 48 };
/** The hub gives a silent database up after 12 s. */
const HOLD_EXCEEDED_MS = 14_000;
/** A pause of a hub for longer than the term of the scheduler. */
const TERM_EXCEEDED_MS = 7000;
const SERVER = 'database server';
/** Draws in which nearly every kind of fault is met. */
const DRAWS = 1500;

export class Faults {
  /** Number of faults by kind. */
  readonly counts = new Map<string, number>();
  /** Reasons why kinds of faults are left out. */
  readonly missing: readonly string[];
  readonly #cluster: Cluster;
  readonly #random: SeededRandom;
  readonly #struck = new Map<string, Promise<void>>();
  /** Errors of the faults themselves. */
  readonly failures: unknown[] = [];
  readonly #onFault: (kind: string, target: string) => void;
  readonly #clockH: Hours;

  constructor(
    cluster: Cluster,
    random: SeededRandom,
    onFault: (kind: string, target: string) => void,
    clockH = CLOCK_H,
  ) {
    this.#cluster = cluster;
    this.#random = random;
    this.#onFault = onFault;
    this.#clockH = clockH;
    const { disk, link } = cluster.parts;
    this.missing = [
      ...(disk ? [] : ['full disk: no file system can be mounted in a namespace here']),
      ...(link ? [] : ['link down: no network namespace can be created here']),
      ...(link?.canLose ? [] : ['packets delayed and lost: the kernel has no netem here']),
    ];
  }

  /** Strikes until `untilMs` of `performance.now()`; resolves when all faults are over. */
  async run(untilMs: number): Promise<void> {
    const { least, more } = this.#cluster.parts.hubs.length > 1 ? EVERY_MS_OF_SEVERAL : EVERY_MS;
    const failOverAtMs = (performance.now() + untilMs) / 2;
    while (performance.now() < untilMs) {
      await pause(least + this.#random.below(more));
      const isFailOverDue = performance.now() > failOverAtMs && !this.#struck.has(SERVER);
      const fault = (isFailOverDue ? this.#failedOver() : undefined) ?? this.#draw();
      const targets = [fault.target, ...(fault.alsoStrikes ?? [])];
      if (targets.some((target) => this.#struck.has(target))) continue;
      const over = this.#strike(fault).finally(() => {
        for (const target of targets) this.#struck.delete(target);
      });
      for (const target of targets) this.#struck.set(target, over);
    }
    await Promise.all(this.#struck.values());
  }

  /** Strikes once, with a fault of the kind that `turnOf` puts first, the lowest number; resolves when it is over, with its kind. */
  async strikeNext(turnOf: (kind: string, count: number) => number): Promise<string> {
    const failOver = this.#failedOver();
    const drawn = [...(failOver ? [failOver] : []), ...Array.from({ length: DRAWS }, () => this.#draw())];
    const turn = ({ kind }: Fault) => turnOf(kind, this.counts.get(kind) ?? 0);
    const next = drawn.reduce((first, fault) => (turn(fault) < turn(first) ? fault : first));
    await this.#strike(next);
    return next.kind;
  }

  #strike(fault: Fault): Promise<void> {
    this.counts.set(fault.kind, (this.counts.get(fault.kind) ?? 0) + 1);
    this.#onFault(fault.kind, fault.target);
    return fault.strike().catch((error: unknown) => void this.failures.push(error));
  }

  #draw(): Fault {
    const { hubs, agents, clients, agentLinks, disk, agentDisk, link, store } = this.#cluster.parts;
    const hub = this.#random.of(hubs);
    const host = this.#random.of(agents);
    const agentLink = this.#random.of(agentLinks);
    const either = this.#random.oneIn(3) ? hub : host;
    const faults = [
      () => this.#killed(hub),
      () => this.#killed(host),
      () => this.#killed(host),
      () => this.#stopped(hub),
      () => this.#paused(either),
      () => this.#clockSet(either),
      () => this.#instanceKilled(),
      () => this.#instanceKilled(),
      () => this.#instancePaused(),
      () => this.#disturbed(agentLink),
      () => this.#disturbed(agentLink),
      () => this.#disturbed(this.#random.of(clients)),
      () => this.#signOnAway(),
      ...(store.database ? this.#ofDatabase(store.database) : []),
      ...(disk ? [() => this.#diskFilled('hub', disk)] : []),
      ...(agentDisk ? [() => this.#diskFilled('agent', agentDisk)] : []),
      ...(link ? [() => this.#linkDown()] : []),
      ...(link?.canLose ? [() => this.#linkDisturbed()] : []),
      ...(hubs.length > 1
        ? [() => this.#paused(hub), () => this.#paused(hub), () => this.#allKilled(hubs)]
        : []),
    ];
    return this.#random.of(faults)();
  }

  #ofDatabase(database: ChaosDatabase): (() => Fault)[] {
    const down = () => pause(this.#random.below(3000));
    const target = SERVER;
    const at = this.#random.below(database.links.length);
    const { name } = this.#cluster.parts.hubs[at] as Host;
    const whose = database.links.length > 1 ? ` of ${name}` : '';
    const link = { name: `link of the database${whose}`, proxy: database.links[at] as FaultyProxy };
    return [
      () => ({ kind: 'database killed', target, strike: () => database.kill(down) }),
      () => ({ kind: 'database restarted', target, strike: () => database.restart(down) }),
      () => this.#databasePaused(database),
      () => this.#databasePaused(database),
      () => this.#disturbed(link, 'database '),
      () => this.#disturbed(link, 'database '),
      () => this.#disturbed(link, 'database '),
      ...(whose === '' ? [] : [() => this.#cutOff(link)]),
    ];
  }

  /** Undefined when the database has no standby any more. */
  #failedOver(): Fault | undefined {
    const { database } = this.#cluster.parts.store;
    if (!database?.hasStandby) return undefined;
    const down = () => pause(this.#random.below(3000));
    return { kind: 'database failed over', target: SERVER, strike: () => database.failOver(down) };
  }

  /** A hub that is away from the database for so long that its agents are to join others. */
  #cutOff({ name, proxy }: NamedLink): Fault {
    return {
      kind: 'hub cut off from the database',
      target: name,
      strike: () => proxy.refuse(HOLD_EXCEEDED_MS),
    };
  }

  #databasePaused(database: ChaosDatabase): Fault {
    const isLong = this.#random.oneIn(3);
    const forMs = isLong ? HOLD_EXCEEDED_MS : 100 + this.#random.below(2000);
    return {
      kind: `database paused${isLong ? ' for longer than calls are held' : ''}`,
      target: SERVER,
      strike: async () => {
        database.pause();
        await pause(forMs);
        database.goOn();
      },
    };
  }

  #killed(host: Host): Fault {
    const forMs = this.#random.below(1500);
    return {
      kind: `${this.#cluster.isHub(host) ? 'hub' : 'agent'} killed`,
      target: host.name,
      strike: async () => {
        await host.kill();
        await pause(forMs);
        host.start();
      },
    };
  }

  #stopped(hub: Host): Fault {
    const forMs = this.#random.below(1500);
    return {
      kind: 'hub stopped',
      target: hub.name,
      strike: async () => {
        await hub.stop();
        await pause(forMs);
        hub.start();
      },
    };
  }

  #allKilled(hubs: readonly Host[]): Fault {
    const downMs = hubs.map(() => this.#random.below(3000));
    const [first, ...others] = hubs.map(({ name }) => name);
    return {
      kind: 'all hubs killed',
      target: first as string,
      alsoStrikes: others,
      strike: async () => {
        await Promise.all(hubs.map((hub) => hub.kill()));
        await Promise.all(hubs.map((hub, at) => pause(downMs[at]).then(() => hub.start())));
      },
    };
  }

  #paused(host: Host): Fault {
    const isLong = this.#random.oneIn(3);
    const isOfSeveral = this.#cluster.isHub(host) && this.#cluster.parts.hubs.length > 1;
    const longMs = isOfSeveral ? TERM_EXCEEDED_MS : LONG_PAUSE_MS;
    const forMs = isLong ? longMs : 100 + this.#random.below(900);
    const name = this.#cluster.isHub(host) ? 'hub' : 'agent';
    const beyond = isOfSeveral ? ' beyond the term of the scheduler' : ' beyond the silence limit';
    return {
      kind: `${name} paused${isLong ? beyond : ''}`,
      target: host.name,
      strike: async () => {
        host.signal('SIGSTOP');
        await pause(forMs);
        host.signal('SIGCONT');
      },
    };
  }

  #clockSet(host: Host): Fault {
    const { least, more } = this.#clockH;
    const offsetMs = (least + this.#random.below(more)) * HOUR_MS;
    return {
      kind: 'clock set',
      target: `clock of ${host.name}`,
      strike: async () => this.#cluster.setClock(host, offsetMs),
    };
  }

  #instanceKilled(): Fault {
    return {
      kind: 'instance killed',
      target: 'instances',
      strike: async () => {
        const instances = this.#cluster.instances();
        if (instances.length > 0) signal(this.#random.of(instances), 'SIGKILL');
      },
    };
  }

  #instancePaused(): Fault {
    const forMs = 100 + this.#random.below(2000);
    return {
      kind: 'instance paused',
      target: 'instances',
      strike: async () => {
        const instances = this.#cluster.instances();
        if (instances.length === 0) return;
        const pid = this.#random.of(instances);
        signal(pid, 'SIGSTOP');
        await pause(forMs);
        signal(pid, 'SIGCONT');
      },
    };
  }

  /** `of`: begins the kind of the fault. */
  #disturbed({ name: target, proxy }: NamedLink, of = ''): Fault {
    const isLong = this.#random.oneIn(4);
    const forMs = isLong ? LONG_PAUSE_MS : 100 + this.#random.below(1400);
    const ways: readonly [string, () => Promise<void>][] = [
      ['connections cut', async () => proxy.cut()],
      ['connections refused', () => proxy.refuse(forMs)],
      ['connections stalled', () => proxy.stall(forMs)],
      ['connections slow', () => proxy.slow(forMs)],
      ['connections half closed', () => proxy.halfClose(this.#random.oneIn(2) ? 'HUB' : 'CALLER', forMs)],
    ];
    const [kind, strike] = this.#random.of(ways);
    return { kind: `${of}${kind}`, target, strike };
  }

  /** The hub verifies tokens by the keys that it knows; a hub that starts meanwhile knows none, and answers 503. */
  #signOnAway(): Fault {
    const { signOnLink } = this.#cluster.parts;
    const forMs = this.#random.oneIn(2) ? 2 * LONG_PAUSE_MS : 100 + this.#random.below(2000);
    const hangs = this.#random.oneIn(2);
    return {
      kind: hangs ? 'sign-on provider hangs' : 'sign-on provider unreachable',
      target: 'link of the sign-on provider',
      strike: () => (hangs ? signOnLink.stall(forMs) : signOnLink.refuse(forMs)),
    };
  }

  #diskFilled(whose: 'hub' | 'agent', disk: SmallDisk): Fault {
    // Agents look at their disks once a second.
    const forMs = (whose === 'agent' ? 1500 : 500) + this.#random.below(2000);
    return {
      kind: whose === 'hub' ? 'disk of the hub full' : 'disk of an agent full',
      target: `disk of the ${whose}`,
      strike: async () => {
        disk.fill();
        await pause(forMs);
        disk.makeRoom();
      },
    };
  }

  #linkDown(): Fault {
    const forMs = this.#random.oneIn(4) ? 2 * LONG_PAUSE_MS : 100 + this.#random.below(2000);
    return {
      kind: 'network link down',
      target: 'network link',
      strike: async () => {
        this.#cluster.parts.link?.takeDown();
        await pause(forMs);
        this.#cluster.parts.link?.takeUp();
      },
    };
  }

  #linkDisturbed(): Fault {
    const forMs = 1000 + this.#random.below(4000);
    return {
      kind: 'packets delayed and lost',
      target: 'network link',
      strike: async () => {
        this.#cluster.parts.link?.disturb();
        await pause(forMs);
        this.#cluster.parts.link?.calm();
      },
    };
  }
}
