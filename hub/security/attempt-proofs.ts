import { createHmac, hkdfSync, timingSafeEqual } from 'node:crypto';
import type { AttemptRef } from '@workbench-hub/shared/domain/task';
import type { AttemptProofs } from '../core/ports/attempt-proofs.js';

/** Proofs by a key that is derived from the storage key, which all hubs on one store have and no agent knows. */
export function attemptProofs(storageKey: Buffer): AttemptProofs {
  const key = Buffer.from(hkdfSync('sha256', storageKey, '', 'workbench-hub attempt proof 1', 32));
  const macOf = ({ taskId, attempt, instanceId }: AttemptRef, agentId: string) =>
    createHmac('sha256', key)
      .update(JSON.stringify([taskId, attempt, instanceId, agentId]))
      .digest();
  return {
    of: (ref, agentId) => macOf(ref, agentId).toString('base64url'),
    holds: (proof, ref, agentId) => {
      const given = Buffer.from(proof, 'base64url');
      const mac = macOf(ref, agentId);
      return given.length === mac.length && timingSafeEqual(given, mac);
    },
  };
}
