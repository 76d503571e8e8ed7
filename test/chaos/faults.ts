/** The faults of a run, with their targets and durations. */
import { setTimeout as pause } from 'node:timers/promises';
import type { SeededRandom } from '../support/random.js';
import { type Cluster, type Host, LONG_PAUSE_MS, signal } from './cluster.js';
import type { ChaosDatabase } from './database.js';
import type { SmallDisk } from './environment.js';
import type { FaultyProxy } from './faulty-proxy.js';

interface Fault {
  readonly kind: string;
  /** Two faults do not strike the same target at once. */
  readonly target: string;
  /** Resolves when the fault is over. */
  strike(): Promise<void>;
}

/** Mean interval between two faults. */
const EVERY_MS = { least: 300, more: 2200 };
const HOUR_MS = 3_600_000;
/** The hub gives a silent database up after 12 s. */
const HOLD_EXCEEDED_MS = 14_000;

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

  constructor(cluster: Cluster, random: SeededRandom, onFault: (kind: string, target: string) => void) {
    this.#cluster = cluster;
    this.#random = random;
    this.#onFault = onFault;
    const { disk, link } = cluster;
    this.missing = [
      ...(disk ? [] : ['full disk: no file system can be mounted in a namespace here']),
      ...(link ? [] : ['link down: no network namespace can be created here']),
      ...(link?.canLose ? [] : ['packets delayed and lost: the kernel has no netem here']),
    ];
  }

  /** Strikes until `untilMs` of `performance.now()`; resolves when all faults are over. */
  async run(untilMs: number): Promise<void> {
    while (performance.now() < untilMs) {
      await pause(EVERY_MS.least + this.#random.below(EVERY_MS.more));
      const fault = this.#draw();
      if (this.#struck.has(fault.target)) continue;
      this.counts.set(fault.kind, (this.counts.get(fault.kind) ?? 0) + 1);
      this.#onFault(fault.kind, fault.target);
      const over = fault
        .strike()
        .catch((error: unknown) => void this.failures.push(error))
        .finally(() => this.#struck.delete(fault.target));
      this.#struck.set(fault.target, over);
    }
    await Promise.all(this.#struck.values());
  }

  #draw(): Fault {
    const { hub, clients, disk, agentDisk, link, store } = this.#cluster;
    const agent = this.#random.below(this.#cluster.agents.length);
    const host = this.#cluster.agents[agent] as Host;
    const proxy = this.#cluster.agentLinks[agent] as FaultyProxy;
    const either = this.#random.oneIn(3) ? hub : host;
    const faults = [
      () => this.#killed(hub),
      () => this.#killed(host),
      () => this.#killed(host),
      () => this.#paused(either),
      () => this.#clockSet(either),
      () => this.#instanceKilled(),
      () => this.#instanceKilled(),
      () => this.#instancePaused(),
      () => this.#disturbed(proxy, `link of ${host.name}`),
      () => this.#disturbed(proxy, `link of ${host.name}`),
      () => this.#disturbed(clients, 'link of clients'),
      () => this.#signOnAway(),
      ...(store.database ? this.#ofDatabase(store.database) : []),
      ...(disk ? [() => this.#diskFilled('hub', disk)] : []),
      ...(agentDisk ? [() => this.#diskFilled('agent', agentDisk)] : []),
      ...(link ? [() => this.#linkDown()] : []),
      ...(link?.canLose ? [() => this.#linkDisturbed()] : []),
    ];
    return this.#random.of(faults)();
  }

  #ofDatabase(database: ChaosDatabase): (() => Fault)[] {
    const down = () => pause(this.#random.below(3000));
    const target = 'database server';
    return [
      () => ({ kind: 'database killed', target, strike: () => database.kill(down) }),
      () => ({ kind: 'database restarted', target, strike: () => database.restart(down) }),
      () => this.#databasePaused(database),
      () => this.#databasePaused(database),
      () => this.#disturbed(database.link, 'link of the database'),
      () => this.#disturbed(database.link, 'link of the database'),
      () => this.#disturbed(database.link, 'link of the database'),
    ];
  }

  #databasePaused(database: ChaosDatabase): Fault {
    const isLong = this.#random.oneIn(3);
    const forMs = isLong ? HOLD_EXCEEDED_MS : 100 + this.#random.below(2000);
    return {
      kind: `database paused${isLong ? ' for longer than calls are held' : ''}`,
      target: 'database server',
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
      kind: `${host === this.#cluster.hub ? 'hub' : 'agent'} killed`,
      target: host.name,
      strike: async () => {
        await host.kill();
        await pause(forMs);
        host.start();
      },
    };
  }

  #paused(host: Host): Fault {
    const isLong = this.#random.oneIn(3);
    const forMs = isLong ? LONG_PAUSE_MS : 100 + this.#random.below(900);
    const name = host === this.#cluster.hub ? 'hub' : 'agent';
    return {
      kind: `${name} paused${isLong ? ' beyond the silence limit' : ''}`,
      target: host.name,
      strike: async () => {
        host.signal('SIGSTOP');
        await pause(forMs);
        host.signal('SIGCONT');
      },
    };
  }

  #clockSet(host: Host): Fault {
    const offsetMs = (this.#random.below(48) - 24) * HOUR_MS;
    return {
      kind: 'clock set',
      target: `clock of ${host.name}`,
      strike: async () => this.#cluster.setClock(host, offsetMs),
    };
  }

  #instanceKilled(): Fault {
    const instances = this.#cluster.instances();
    return {
      kind: 'instance killed',
      target: 'instances',
      strike: async () => {
        if (instances.length > 0) signal(this.#random.of(instances), 'SIGKILL');
      },
    };
  }

  #instancePaused(): Fault {
    const instances = this.#cluster.instances();
    const forMs = 100 + this.#random.below(2000);
    return {
      kind: 'instance paused',
      target: 'instances',
      strike: async () => {
        if (instances.length === 0) return;
        const pid = this.#random.of(instances);
        signal(pid, 'SIGSTOP');
        await pause(forMs);
        signal(pid, 'SIGCONT');
      },
    };
  }

  #disturbed(proxy: FaultyProxy, target: string): Fault {
    const isLong = this.#random.oneIn(4);
    const forMs = isLong ? LONG_PAUSE_MS : 100 + this.#random.below(1400);
    const ofDatabase = target === 'link of the database';
    const ways: readonly [string, () => Promise<void>][] = [
      ['connections cut', async () => proxy.cut()],
      ['connections refused', () => proxy.refuse(forMs)],
      ['connections stalled', () => proxy.stall(forMs)],
      ['connections slow', () => proxy.slow(forMs)],
      ['connections half closed', () => proxy.halfClose(this.#random.oneIn(2) ? 'HUB' : 'CALLER', forMs)],
    ];
    const [kind, strike] = this.#random.of(ways);
    return { kind: ofDatabase ? `database ${kind}` : kind, target, strike };
  }

  /** The hub verifies tokens by the keys that it knows; a hub that starts meanwhile knows none, and answers 503. */
  #signOnAway(): Fault {
    const { signOnLink } = this.#cluster;
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
        this.#cluster.link?.takeDown();
        await pause(forMs);
        this.#cluster.link?.takeUp();
      },
    };
  }

  #linkDisturbed(): Fault {
    const forMs = 1000 + this.#random.below(4000);
    return {
      kind: 'packets delayed and lost',
      target: 'network link',
      strike: async () => {
        this.#cluster.link?.disturb();
        await pause(forMs);
        this.#cluster.link?.calm();
      },
    };
  }
}
