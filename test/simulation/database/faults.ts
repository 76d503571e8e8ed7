/** Faults of the simulated database server, and of the link to it. */
import type { Fault, Mend, Victims } from '../fault.js';
import type { HubDatabase } from '../simulated-hub.js';
import { CRITICAL_STEPS } from '../watched-ports.js';
import type { World } from '../world.js';
import type { Refusal } from './link.js';

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

/** Faults of a hub's database. */
export function databaseFaults({ server, link }: HubDatabase): readonly Fault[] {
  const away = (world: World) => {
    server.isUp = false;
    link.serverEnded();
    return () => {
      server.isUp = true;
      world.note('database', 'accepts connections');
    };
  };
  /** It hits the database, whether or not the hub runs. */
  const of =
    (hit: (victims: Victims) => Mend | undefined): Fault['happen'] =>
    (victims, did) => {
      if (!server.isUp) return undefined;
      did('database');
      return hit(victims);
    };
  const share = (set: (share: number) => void) =>
    of(({ world }) => {
      set(0.1 + world.random.next() * 0.6);
      return () => set(0);
    });
  return [
    {
      kind: 'hub killed during a batch',
      happen: of(({ hub }) => {
        link.duringBatch = () => hub.kill();
        return undefined;
      }),
    },
    { kind: 'database connections cut', happen: of(() => void link.cut()) },
    {
      kind: 'database requests lost',
      lastsMs: LONG_MS,
      happen: share((lost) => {
        link.lossOfRequests = lost;
      }),
    },
    {
      kind: 'database responses lost',
      lastsMs: LONG_MS,
      happen: share((lost) => {
        link.lossOfResponses = lost;
      }),
    },
    {
      kind: 'database cut off',
      lastsMs: LONG_MS,
      happen: of(() => {
        link.isCutOff = true;
        return () => {
          link.isCutOff = false;
        };
      }),
    },
    {
      kind: 'database hangs',
      lastsMs: LONG_MS,
      happen: of(() => {
        link.isHung = true;
        return () => link.release();
      }),
    },
    {
      kind: 'database slow',
      lastsMs: SHORT_MS,
      happen: of(() => {
        link.isSlow = true;
        return () => {
          link.isSlow = false;
        };
      }),
    },
    { kind: 'database restarted', lastsMs: SHORT_MS, happen: of(({ world }) => away(world)) },
    {
      kind: 'database crashed',
      lastsMs: SHORT_MS,
      happen: of(({ world }) => {
        server.crash();
        return away(world);
      }),
    },
    {
      kind: 'database failed over to a synchronous standby',
      lastsMs: LONG_MS,
      happen: of(({ world }) => {
        link.isHung = false;
        server.crash();
        return away(world);
      }),
    },
    {
      kind: 'database failed over to an asynchronous standby',
      lastsMs: LONG_MS,
      happen: of(({ world }) => {
        const standby = server.image();
        let isOver = false;
        let end: Mend | undefined;
        world.after(world.between(1, 3000), () => {
          if (isOver || !server.isUp) return;
          server.failOver(standby);
          end = away(world);
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
        happen: of(() => {
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
        happen: of(({ world, hub }) => {
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
}
