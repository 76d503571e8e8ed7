/** Password hashes by scrypt, which Node includes. */
import { randomBytes, scrypt, timingSafeEqual } from 'node:crypto';
import { formatPasswordHash, parsePasswordHash, type ScryptCost } from '../core/accounts.js';
import type { Passwords } from '../core/ports/accounts.js';

/** 32 MiB and about a tenth of a second, as the OWASP password storage cheat sheet recommends. */
const COST: ScryptCost = { ln: 15, r: 8, p: 3 };

const SALT_BYTES = 16;
const HASH_BYTES = 32;

export function scryptPasswords(cost: ScryptCost = COST): Passwords {
  return {
    hash: async (password) => {
      const salt = randomBytes(SALT_BYTES);
      const hash = await derive(password, salt, HASH_BYTES, cost);
      return formatPasswordHash({ cost, salt: unpadded(salt), hash: unpadded(hash) });
    },
    verify: async (password, passwordHash) => {
      const stored = parsePasswordHash(passwordHash);
      if (!stored) return false;
      const hash = Buffer.from(stored.hash, 'base64');
      const salt = Buffer.from(stored.salt, 'base64');
      const isEqual = timingSafeEqual(await derive(password, salt, hash.length, stored.cost), hash);
      // HMAC, on which scrypt is built, treats a text and the same text followed by zeros as one key.
      return isEqual && !password.includes('\0');
    },
  };
}

/** Runs in Node's thread pool. Passwords are normalized, so that equal-looking ones are equal. */
function derive(password: string, salt: Buffer, length: number, { ln, r, p }: ScryptCost): Promise<Buffer> {
  const N = 2 ** ln;
  const maxmem = 128 * r * (N + p) + 1024 ** 2;
  return new Promise((resolve, reject) =>
    scrypt(password.normalize('NFC'), salt, length, { N, r, p, maxmem }, (error, hash) =>
      error ? reject(error) : resolve(hash),
    ),
  );
}

function unpadded(bytes: Buffer): string {
  return bytes.toString('base64').replace(/=+$/, '');
}
