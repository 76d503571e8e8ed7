import { createHmac, hkdfSync, timingSafeEqual } from 'node:crypto';
import type { AllocationSecrets } from '../core/ports/allocation-secrets.js';

/** Secrets by a key that is derived from the storage key, which all hubs on one store have and no agent knows. */
export function allocationSecrets(storageKey: Buffer): AllocationSecrets {
  const key = Buffer.from(hkdfSync('sha256', storageKey, '', 'workbench-hub allocation secret 1', 32));
  const macOf = (id: string) => createHmac('sha256', key).update(id).digest();
  return {
    of: (id) => `wba.${id}.${macOf(id).toString('base64url')}`,
    idOf: (secret) => {
      const [, id, mac] = /^wba\.([A-Za-z0-9-]{1,200})\.([\w-]{43})$/.exec(secret) ?? [];
      if (id === undefined || mac === undefined) return null;
      return timingSafeEqual(Buffer.from(mac, 'base64url'), macOf(id)) ? id : null;
    },
  };
}
