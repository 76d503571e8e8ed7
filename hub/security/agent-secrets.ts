import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import type { AgentSecrets } from '../core/ports/agent-credentials.js';

/** Crockford's base 32: no letter that is taken for another letter or a digit. */
const ALPHABET = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';

/** 28 characters of 5 bits: 140 bits. */
const CODE_LENGTH = 28;
const GROUP = /.{4}(?=.)/g;

/** What a search for secrets in files or logs can look for. */
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

/** A code as it was made, however it was typed. */
function asMade(code: string): string {
  return code.toUpperCase().replaceAll(/[\s-]/g, '').replaceAll('O', '0').replaceAll(/[IL]/g, '1');
}
