/** Values that a browser keeps for the hub and can neither read nor change. */
import { hkdfSync } from 'node:crypto';
import type { Clock } from '@workbench-hub/shared/runtime/runtime';
import { EncryptJWT, jwtDecrypt } from 'jose';
import type { Seal } from '../core/ports/sign-on.js';

/** Browsers drop cookies of more than 4096 characters with their name and attributes. */
const MAX_LENGTH = 3800;

const KEY_BYTES = 32;

/** A seal for one purpose, with a key that is derived from this one. */
export function sealFor(purpose: string, key: Buffer, clock: Clock): Seal {
  const own = new Uint8Array(hkdfSync('sha256', key, '', `workbench-hub ${purpose}`, KEY_BYTES));
  return {
    close: async (value, lifetimeMs) => {
      const sealed = await new EncryptJWT({ ...value })
        .setProtectedHeader({ alg: 'dir', enc: 'A256GCM' })
        .setExpirationTime(new Date(clock.nowMs() + lifetimeMs))
        .encrypt(own);
      return sealed.length > MAX_LENGTH ? undefined : sealed;
    },
    open: async (sealed) => {
      if (sealed === undefined) return undefined;
      const rules = {
        keyManagementAlgorithms: ['dir'],
        contentEncryptionAlgorithms: ['A256GCM'],
        currentDate: new Date(clock.nowMs()),
      };
      const opened = await jwtDecrypt(sealed, own, rules).catch(() => undefined);
      return opened?.payload;
    },
  };
}
