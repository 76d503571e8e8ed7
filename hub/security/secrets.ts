import { createHash, createHmac, randomBytes } from 'node:crypto';
import type { Secrets } from '../core/ports/accounts.js';

/** 256 random bits as text. A plain hash suffices for them, since they cannot be guessed. */
export const secrets: Secrets = {
  newSecret: () => randomBytes(32).toString('base64url'),
  hashOf: (secret) => createHash('sha256').update(secret).digest('base64url'),
  derived: (secret, salt) => createHmac('sha256', salt).update(secret).digest('base64url'),
};
