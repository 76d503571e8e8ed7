/** Shutdown preparations of a hub that has its store alone. A restart ends both. */
import type { Preparations, ShutdownPreparations } from '../../core/ports/shutdown-preparations.js';

export function ownPreparations(): ShutdownPreparations {
  let inForce: Preparations = { HUB: null, CLUSTER: null };
  return {
    read: async () => inForce,
    change: async (scope, initiatedAtMs) => {
      const kept = initiatedAtMs === null ? null : (inForce[scope] ?? initiatedAtMs);
      inForce = { ...inForce, [scope]: kept };
      return inForce;
    },
  };
}
