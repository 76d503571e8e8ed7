import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import type { AgentSecrets } from '../core/ports/agent-credentials.js';

/** Crockford's base 32, without characters that are easily confused. */
const ALPHABET = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';

/** 28 characters of 5 bits: 140 bits. */
const CODE_LENGTH = 28;
const GROUP = /.{4}(?=.)/g;

/** Prefix by which secret scanners find credentials. */
const CREDENTIAL_PREFIX = 'wba_';

export const agentSecrets: AgentSecrets = {
  newCode: () =>
    [...randomBytes(CODE_LENGTH)]
      .map((byte) => ALPHABET[byte % ALPHABET.length])
      .join('')
      .replaceAll(GROUP, '$&-'),
  newCredential: () => CREDENTIAL_PREFIX + randomBytes(32).toString('base64url'),
  hashOf,
  hashOfCode: (code) => hashOf(asMade(code)),
  areEqual: (hash, other) =>
    hash.length === other.length && timingSafeEqual(Buffer.from(hash), Buffer.from(other)),
};

function hashOf(secret: string): string {
  return createHash('sha256').update(secret).digest('hex');
}

/** Canonical form of a code, however it was typed. */
function asMade(code: string): string {
  return code.toUpperCase().replaceAll(/[\s-]/g, '').replaceAll('O', '0').replaceAll(/[IL]/g, '1');
}
