/** Faults of the simulated database server, and of the link to it. */
import type { Fault, Mend, Victims } from '../fault.js';
import type { HubDatabase } from '../simulated-hub.js';
import { CRITICAL_STEPS } from '../watched-ports.js';
import type { World } from '../world.js';
import type { DatabaseLink, Refusal } from './link.js';
import type { DatabaseServer } from './server.js';

const SHORT_MS = [100, 8000] as const;
/** Some of these outlast the time for which calls are held. */
const LONG_MS = [500, 40_000] as const;

const REFUSALS: readonly (Refusal & { readonly fault: string })[] = [
  {
    fault: 'database disk full',
    kind: 'FULL_DISK',
    message: 'could not extend file',
    share: 1,
    isOfReads: false,
  },
  {
    fault: 'database out of connections',
    kind: 'TOO_MANY_CONNECTIONS',
    message: 'too many clients',
    share: 0.8,
    isOfReads: true,
  },
  {
    fault: 'database deadlocks',
    kind: 'CONFLICT',
    message: 'deadlock detected',
    share: 0.5,
    isOfReads: false,
  },
  {
    fault: 'database statements time out',
    kind: 'TIMEOUT',
    message: 'canceling statement',
    share: 0.7,
    isOfReads: true,
  },
  {
    fault: 'database read only',
    kind: 'READ_ONLY',
    message: 'cannot execute UPDATE',
    share: 1,
    isOfReads: false,
  },
];

/** Ends the server; returns how it is back. */
export function serverAway(server: DatabaseServer, world: World): Mend {
  server.isUp = false;
  server.restart();
  for (const link of server.links) link.serverEnded();
  return () => {
    server.isUp = true;
    world.note('database', 'accepts connections');
  };
}

type DatabaseVictims = Victims & HubDatabase;

/** It hits the database, or the link of a hub to it, whether or not the hub runs. */
export function ofDatabase(hit: (victims: DatabaseVictims) => Mend | undefined): Fault['happen'] {
  return (victims, did) => {
    const { database } = victims.hub;
    if (!database?.server.isUp) return undefined;
    did('database', victims.hub.name);
    return hit({ ...victims, ...database });
  };
}

function share(set: (link: DatabaseLink, share: number) => void): Fault['happen'] {
  return ofDatabase(({ world, link }) => {
    set(link, 0.1 + world.random.next() * 0.6);
    return () => set(link, 0);
  });
}

/** Faults of a hub's database. */
export const DATABASE_FAULTS: readonly Fault[] = [
  {
    kind: 'hub killed during a batch',
    happen: ofDatabase(({ hub, link }) => {
      link.duringBatch = () => hub.kill();
      return undefined;
    }),
  },
  { kind: 'database connections cut', happen: ofDatabase(({ link }) => void link.cut()) },
  {
    kind: 'database requests lost',
    lastsMs: LONG_MS,
    happen: share((link, lost) => {
      link.lossOfRequests = lost;
    }),
  },
  {
    kind: 'database responses lost',
    lastsMs: LONG_MS,
    happen: share((link, lost) => {
      link.lossOfResponses = lost;
    }),
  },
  {
    kind: 'database cut off',
    lastsMs: LONG_MS,
    happen: ofDatabase(({ link }) => {
      link.isCutOff = true;
      return () => {
        link.isCutOff = false;
      };
    }),
  },
  {
    kind: 'database hangs',
    lastsMs: LONG_MS,
    happen: ofDatabase(({ link }) => {
      link.isHung = true;
      return () => link.release();
    }),
  },
  {
    kind: 'database slow',
    lastsMs: SHORT_MS,
    happen: ofDatabase(({ link }) => {
      link.isSlow = true;
      return () => {
        link.isSlow = false;
      };
    }),
  },
  {
    kind: 'database restarted',
    lastsMs: SHORT_MS,
    happen: ofDatabase(({ world, server }) => serverAway(server, world)),
  },
  {
    kind: 'database crashed',
    lastsMs: SHORT_MS,
    happen: ofDatabase(({ world, server }) => {
      server.crash();
      return serverAway(server, world);
    }),
  },
  {
    kind: 'database failed over to a synchronous standby',
    lastsMs: LONG_MS,
    happen: ofDatabase(({ world, server, link }) => {
      link.isHung = false;
      server.promoteStandby();
      return serverAway(server, world);
    }),
  },
  {
    kind: 'database failed over to an asynchronous standby',
    isOfOneHub: true,
    lastsMs: LONG_MS,
    happen: ofDatabase(({ world, server }) => {
      const standby = server.image();
      let isOver = false;
      let end: Mend | undefined;
      world.after(world.between(1, 3000), () => {
        if (isOver || !server.isUp) return;
        server.failOver(standby);
        end = serverAway(server, world);
      });
      return () => {
        isOver = true;
        end?.();
      };
    }),
  },
  ...REFUSALS.map(
    ({ fault, ...refusal }): Fault => ({
      kind: fault,
      lastsMs: SHORT_MS,
      happen: ofDatabase(({ link }) => {
        link.refusal = refusal;
        return () => {
          link.refusal = undefined;
        };
      }),
    }),
  ),
  ...CRITICAL_STEPS.map(
    (step): Fault => ({
      kind: `database responses lost as ${step}`,
      happen: ofDatabase(({ world, hub, link }) => {
        hub.beforeStep.set(step, () => {
          if (!world.turbulent) return;
          link.lossOfResponses = 1;
          world.after(world.between(1, 4000), () => {
            link.lossOfResponses = 0;
          });
        });
        return undefined;
      }),
    }),
  ),
];
