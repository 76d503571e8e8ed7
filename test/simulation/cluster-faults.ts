/** Faults of worlds with several hubs. */
import { ofDatabase, serverAway } from './database/faults.js';
import type { Fault, Mend } from './fault.js';

const SHORT_MS = [200, 20_000] as const;
/** Some of these last longer than a lease. */
const LONG_MS = [1000, 240_000] as const;

export const CLUSTER_FAULTS: readonly Fault[] = [
  {
    kind: 'hub halted',
    lastsMs: LONG_MS,
    happen: ({ hub }, did) => {
      if (!hub.isWorking) return undefined;
      did(hub.name);
      return hub.halt();
    },
  },
  {
    kind: 'scheduling hub halted',
    lastsMs: [2000, 40_000],
    happen: ({ hubs }, did) => {
      const hub = hubs.all.find(({ name }) => name === hubs.server?.cluster.role.holder);
      if (!hub?.isWorking) return undefined;
      did(hub.name);
      return hub.halt();
    },
  },
  {
    kind: 'scheduling hub killed',
    happen: ({ hubs }, did) => {
      const hub = hubs.all.find(({ name }) => name === hubs.server?.cluster.role.holder);
      if (!hub?.alive) return undefined;
      did(hub.name);
      hub.kill();
      return undefined;
    },
  },
  {
    kind: 'signals lost',
    lastsMs: LONG_MS,
    happen: ofDatabase(({ world, link }) => {
      link.lossOfNotifications = world.happens(0.3) ? 1 : world.random.next() * 0.5;
      return () => {
        link.lossOfNotifications = 0;
      };
    }),
  },
  {
    kind: 'pool exhausted',
    lastsMs: SHORT_MS,
    happen: ofDatabase(({ link }) => link.exhaust()),
  },
  {
    kind: 'hub cut off from the database',
    lastsMs: LONG_MS,
    happen: ofDatabase(({ link }) => {
      link.isCutOff = true;
      return () => {
        link.isCutOff = false;
      };
    }),
  },
  {
    kind: 'agent cut off from a hub',
    lastsMs: LONG_MS,
    happen: ({ world, agents, hub, network }, did) => {
      const agent = world.random.of(agents);
      if (!hub.alive) return undefined;
      did(agent.id, hub.name);
      network.cutOffFrom(agent.id, hub.address, hub.process);
      return () => network.healFrom(agent.id, hub.address);
    },
  },
  {
    kind: 'all hubs killed',
    happen: ({ hubs }, did) => {
      did('hubs');
      hubs.kill();
      return undefined;
    },
  },
  {
    kind: 'site without power',
    lastsMs: [500, 60_000],
    happen: ({ world, hubs, agents, network }, did): Mend | undefined => {
      const { server } = hubs;
      if (!server?.isUp) return undefined;
      did('site');
      server.crash();
      const mend = serverAway(server, world);
      for (const connection of network.open) connection.losePower();
      for (const hub of hubs.all) hub.losePower();
      for (const agent of agents) agent.kill();
      return mend;
    },
  },
];
