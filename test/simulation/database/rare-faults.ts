/** Faults of the database server that happen in few worlds, so that all others stay as they are. */
import type { Fault, Mend } from '../fault.js';
import { ofDatabase, serverAway } from './faults.js';

/** In every seventh ten of worlds. */
const TENS = 7;

export function hasRareFaults(seed: number): boolean {
  return Math.floor(seed / 10) % TENS === TENS - 2;
}

export const RARE_FAULTS: readonly Fault[] = [
  {
    kind: 'scheduling hub halted while locks hold up the end of a lease',
    happen: ofDatabase(({ world, hubs, agents, network }) => {
      const hub = hubs.all.find(({ name }) => name === hubs.server?.cluster.role.holder);
      hub?.beforeStep.set('a lease ends', () => {
        const link = hub.database?.link;
        if (!link || !world.turbulent) return;
        link.duringBatch = () => {
          if (!world.turbulent || !hub.isWorking) return;
          world.after(world.between(4000, 20_000), hub.halt());
          for (const { id } of agents) network.heal(id);
        };
      });
      return undefined;
    }),
  },
  {
    kind: 'database without its synchronous standby',
    lastsMs: [500, 60_000],
    happen: ofDatabase(({ server }) => {
      server.loseStandby();
      return () => server.standbyIsBack();
    }),
  },
  {
    kind: 'database restarted without its synchronous standby, which takes over',
    lastsMs: [2000, 60_000],
    happen: ofDatabase(({ world, server }) => {
      let isOver = false;
      let end: Mend = () => undefined;
      /** Ends the server for a while. */
      const away = (withStandby: boolean, next: () => void = () => undefined) => {
        if (isOver || !server.isUp) return;
        if (withStandby) server.promoteStandby();
        const back = serverAway(server, world);
        end = back;
        world.after(world.between(50, 2000), () => {
          if (end !== back) return;
          end = () => undefined;
          back();
          next();
        });
      };
      const takeOver = () => world.after(world.between(20, 10_000), () => away(true));
      server.loseStandby(() => world.after(world.between(0, 2000), () => away(false, takeOver)));
      return () => {
        isOver = true;
        end();
        server.standbyIsBack();
      };
    }),
  },
];
