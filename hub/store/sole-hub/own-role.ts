/** The role of the scheduler of a hub that has its store alone: gained at once, and kept until the hub resigns. */
import type { RoleHolder, Roles } from '../../core/ports/roles.js';

export function ownRole(): Roles {
  let holder: RoleHolder | undefined;
  return {
    contend: async (contender) => {
      await contender.gained(0);
      holder = contender;
    },
    resign: async () => {
      const former = holder;
      holder = undefined;
      await former?.lost();
    },
  };
}
