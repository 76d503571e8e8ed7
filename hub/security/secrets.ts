import { createHash, createHmac, randomBytes } from 'node:crypto';
import type { Secrets } from '../core/ports/accounts.js';

/** 256 bits of chance, as text. A plain hash is enough for those: there is no list of likely ones to try. */
export const secrets: Secrets = {
  newSecret: () => randomBytes(32).toString('base64url'),
  hashOf: (secret) => createHash('sha256').update(secret).digest('base64url'),
  derived: (secret, salt) => createHmac('sha256', salt).update(secret).digest('base64url'),
};
