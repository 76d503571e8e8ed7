/** Faults of the simulated world. Each kind happens at random times, and most are mended after a while. A seed has some
 *  kinds often and others never, so that their combinations differ. */
import { CLUSTER_FAULTS } from './cluster-faults.js';
import { DATABASE_FAULTS } from './database/faults.js';
import { hasRareFaults, RARE_FAULTS } from './database/rare-faults.js';
import type { Fault, Mend, Victims } from './fault.js';
import type { SimulatedAgent } from './simulated-agent.js';
import type { SimulatedHub } from './simulated-hub.js';
import { CRITICAL_STEPS } from './watched-ports.js';

const SHORT_MS = [200, 20_000] as const;
/** Some of these last longer than a lease. */
const LONG_MS = [1000, 240_000] as const;
const HOUR_MS = 3_600_000;

function ofAgents(hit: (agent: SimulatedAgent, victims: Victims) => Mend | undefined): Fault['happen'] {
  return (victims, did) => {
    const agent = victims.world.random.of(victims.agents);
    if (!agent.alive) return undefined;
    did(agent.id);
    return hit(agent, victims);
  };
}

function ofHub(hit: (hub: SimulatedHub, victims: Victims) => Mend | undefined): Fault['happen'] {
  return (victims, did) => {
    if (!victims.hub.alive) return undefined;
    did(victims.hub.name);
    return hit(victims.hub, victims);
  };
}

const FAULTS: readonly Fault[] = [
  { kind: 'hub killed', happen: ofHub((hub) => void hub.kill()) },
  { kind: 'hub without power', happen: ofHub((hub) => void hub.losePower()) },
  {
    kind: 'hub killed in a sync',
    isOfDisk: true,
    happen: ofHub((hub) => {
      hub.disk.duringSync = () => hub.kill();
      return undefined;
    }),
  },
  {
    kind: 'hub without power in a sync',
    isOfDisk: true,
    happen: ofHub((hub) => {
      hub.disk.duringSync = () => hub.losePower();
      return undefined;
    }),
  },
  {
    kind: 'hub killed in a sync, without power when it is back',
    isOfDisk: true,
    happen: ofHub((hub, { world }) => {
      hub.disk.duringSync = () => {
        hub.kill();
        hub.whenReady = () => world.after(world.between(0, 1000), () => hub.losePower());
      };
      return undefined;
    }),
  },
  { kind: 'hub stopped', happen: ofHub((hub) => void hub.stop()) },
  {
    kind: 'hub prepared for shutdown',
    lastsMs: SHORT_MS,
    happen: ofHub((hub) => {
      const change = (isPrepared: boolean) =>
        void hub.engine?.shutdown.change(isPrepared).catch(() => undefined);
      change(true);
      return () => change(false);
    }),
  },
  {
    kind: 'hub disk full',
    lastsMs: SHORT_MS,
    happen: ofHub((hub) => {
      hub.disk.refusal = 'SQLITE_FULL';
      return () => {
        hub.disk.refusal = undefined;
      };
    }),
  },
  {
    kind: 'hub disk failing',
    isOfDisk: true,
    lastsMs: SHORT_MS,
    happen: ofHub((hub) => {
      hub.disk.refusal = 'SQLITE_IOERR';
      return () => {
        hub.disk.refusal = undefined;
      };
    }),
  },
  ...CRITICAL_STEPS.map(
    (step): Fault => ({
      kind: `hub disk failing as ${step}`,
      isOfDisk: true,
      happen: ofHub((hub, { world }) => {
        hub.beforeStep.set(step, () => {
          if (!world.turbulent) return;
          hub.disk.refusal = 'SQLITE_IOERR';
          world.after(world.between(1, 4000), () => {
            hub.disk.refusal = undefined;
          });
        });
        return undefined;
      }),
    }),
  ),
  {
    kind: 'hub disk slow',
    isOfDisk: true,
    lastsMs: SHORT_MS,
    happen: ofHub((hub) => {
      hub.disk.slowSyncs = true;
      return () => {
        hub.disk.slowSyncs = false;
      };
    }),
  },
  {
    kind: 'hub sync failed',
    isOfDisk: true,
    lastsMs: SHORT_MS,
    happen: ofHub((hub) => {
      hub.disk.failingSync = true;
      return () => {
        hub.disk.failingSync = false;
      };
    }),
  },
  {
    kind: 'clock of the hub set',
    happen: ofHub((hub, { world }) => {
      hub.wallClock.offsetMs += world.between(-HOUR_MS, HOUR_MS);
      return undefined;
    }),
  },
  {
    kind: 'clock of an agent set',
    happen: ofAgents((agent, { world }) => {
      agent.wallClock.offsetMs += world.between(-HOUR_MS, HOUR_MS);
      return undefined;
    }),
  },
  { kind: 'agent killed', happen: ofAgents((agent) => void agent.kill()) },
  {
    kind: 'agent without power',
    happen: ofAgents((agent, { network }) => {
      for (const connection of network.of(agent.id)) connection.losePower();
      agent.kill();
      return undefined;
    }),
  },
  { kind: 'agent stopped', happen: ofAgents((agent) => void agent.stop()) },
  {
    kind: 'agent disk full',
    lastsMs: SHORT_MS,
    happen: ofAgents((agent) => {
      agent.disk.full = true;
      return () => {
        agent.disk.full = false;
      };
    }),
  },
  {
    kind: 'agent disk filled by a job',
    // A script may remove its files when it fails.
    lastsMs: [0, 500],
    happen: ({ world, agents }, did) => {
      const agent = world.random.of(agents);
      if (!agent.programs?.running.some((program) => program.fillDisk())) return undefined;
      did(agent.id);
      return () => {
        agent.disk.full = false;
      };
    },
  },
  {
    kind: 'instance killed',
    happen: ofAgents((agent, { world }) => {
      const running = agent.programs?.running ?? [];
      if (running.length > 0) world.random.of(running).die('SIGKILL');
      return undefined;
    }),
  },
  {
    kind: 'instance commanded',
    happen: ofAgents((agent, { world, hub }) => {
      const { id } = world.random.of(agent.instances);
      const command = world.random.of(['start', 'stop', 'restart'] as const);
      hub.request(
        ({ control }) => control.command(id, command, { user: null }),
        () => world.note(id, `takes the command ${command}`),
      );
      return undefined;
    }),
  },
  {
    kind: 'connection cut',
    happen: ofAgents((agent, { world, network }) => {
      for (const connection of network.of(agent.id))
        connection.cut(world.between(0, 2000), world.between(0, 2000));
      return undefined;
    }),
  },
  {
    kind: 'connection half open',
    happen: ofAgents((agent, { world, network }) => {
      const hubLearns = world.happens(0.5);
      for (const connection of network.of(agent.id)) {
        connection.cut(hubLearns ? 10 : null, hubLearns ? null : 10);
      }
      return undefined;
    }),
  },
  {
    kind: 'agent cut off',
    lastsMs: LONG_MS,
    happen: ofAgents((agent, { network }) => {
      network.cutOff(agent.id);
      return () => network.heal(agent.id);
    }),
  },
  {
    kind: 'messages held up',
    lastsMs: SHORT_MS,
    happen: ofAgents((agent, { world, network }) => {
      const held = network.of(agent.id);
      for (const connection of held) connection.hold(world.random.of(['toHub', 'toAgent', 'both'] as const));
      return () => {
        for (const connection of held) connection.release();
      };
    }),
  },
  {
    kind: 'all agents held up',
    lastsMs: SHORT_MS,
    happen: ({ world, network, agents }, did) => {
      const held = network.open;
      did('network', `${held.length} connections`);
      for (const [index, connection] of held.entries()) {
        world.after(index * 50, () => world.turbulent && connection.hold('toHub'));
      }
      return () => {
        // One after the other, in another order than before.
        const from = world.random.below(agents.length);
        for (const index of held.keys()) {
          world.after(index * world.between(10, 300), () => held[(index + from) % held.length]?.release());
        }
      };
    },
  },
  {
    kind: 'all connections cut',
    happen: ({ network }, did) => {
      did('network', `${network.open.length} connections`);
      for (const connection of network.open) connection.cut(0, 0);
      return undefined;
    },
  },
];

export class Faults {
  readonly #victims: Omit<Victims, 'hub'>;
  readonly #mends = new Set<Mend>();
  readonly #areRare: boolean;

  constructor(seed: number, victims: Omit<Victims, 'hub'>) {
    this.#victims = victims;
    this.#areRare = hasRareFaults(seed);
  }

  /** Begins to cause faults, as long as the world is turbulent. */
  start(): void {
    const { world, hubs } = this.#victims;
    const ofStore = hubs.server
      ? [...FAULTS.filter(({ isOfDisk }) => !isOfDisk), ...DATABASE_FAULTS]
      : FAULTS;
    const ofWorld = hubs.isCluster
      ? [...ofStore.filter(({ isOfOneHub }) => !isOfOneHub), ...CLUSTER_FAULTS]
      : ofStore;
    const rare = hubs.server && this.#areRare ? RARE_FAULTS : [];
    for (const fault of [...ofWorld, ...rare]) {
      if (world.happens(0.5)) continue;
      const meanMs = world.random.of([40_000, 120_000, 400_000]);
      this.#next(fault, meanMs);
    }
  }

  /** Mends all faults that still last. */
  mendAll(): void {
    for (const mend of this.#mends) mend();
    this.#mends.clear();
  }

  #next(fault: Fault, meanMs: number): void {
    const { world } = this.#victims;
    world.after(world.between(1, 2 * meanMs), () => {
      if (!world.turbulent) return;
      this.#inflict(fault);
      this.#next(fault, meanMs);
    });
  }

  #inflict(fault: Fault): void {
    const { world, hubs } = this.#victims;
    const mend = fault.happen({ ...this.#victims, hub: hubs.any }, (who, detail) =>
      world.fault(fault.kind, who, detail),
    );
    if (!mend) return;
    this.#mends.add(mend);
    const [leastMs, mostMs] = fault.lastsMs ?? SHORT_MS;
    // Short faults are more frequent than long ones.
    const lastsMs = leastMs + Math.floor((mostMs - leastMs) * world.random.next() ** 3);
    world.after(lastsMs, () => {
      if (!this.#mends.delete(mend)) return;
      mend();
      world.tell('world', `mended: ${fault.kind}`);
    });
  }
}
