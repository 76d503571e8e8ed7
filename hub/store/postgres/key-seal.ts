/** Sealing of key files for rows of the database (AES-256-GCM), under a key that the database does not have: who reads it, or a copy of it,
 *  learns none of the keys. */
import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto';
import { StartRefused } from '@workbench-hub/shared/runtime/run-program';

const PREFIX = 'sealed:1:';
const CIPHER = 'aes-256-gcm';
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

const REMEDY = 'set the same storage.encryptionKey in the configuration of all hubs on this database';

export interface KeySeal {
  /** Row of a file with this name and content. */
  seal(name: string, content: string): string;
  /** Content of a file by its row, which may be older and not sealed. Throws `StartRefused` for one that was sealed with another key. */
  open(name: string, row: string): string;
}

/** @param key `storage.encryptionKey`; null where there is none, when rows are the contents themselves. */
export function keySeal(key: Buffer | null): KeySeal {
  const own = key && Buffer.from(hkdfSync('sha256', key, '', 'workbench-hub key files 1', 32));
  return {
    seal: (name, content) => (own === null ? content : sealed(own, name, content)),
    open: (name, row) => (isSealed(row) ? opened(own, name, row) : row),
  };
}

export function isSealed(row: string): boolean {
  return row.startsWith(PREFIX);
}

function sealed(key: Buffer, name: string, content: string): string {
  const nonce = randomBytes(NONCE_BYTES);
  const cipher = createCipheriv(CIPHER, key, nonce).setAAD(Buffer.from(name));
  const bytes = Buffer.concat([cipher.update(content, 'utf8'), cipher.final()]);
  return PREFIX + Buffer.concat([nonce, cipher.getAuthTag(), bytes]).toString('base64');
}

function opened(key: Buffer | null, name: string, row: string): string {
  if (key === null) {
    throw new StartRefused(
      `the hubs on this database share ${name} sealed, and this one has no key for it: ${REMEDY}`,
    );
  }
  const bytes = Buffer.from(row.slice(PREFIX.length), 'base64');
  const nonce = bytes.subarray(0, NONCE_BYTES);
  const tag = bytes.subarray(NONCE_BYTES, NONCE_BYTES + TAG_BYTES);
  try {
    const cipher = createDecipheriv(CIPHER, key, nonce, { authTagLength: TAG_BYTES })
      .setAAD(Buffer.from(name))
      .setAuthTag(tag);
    return cipher.update(bytes.subarray(NONCE_BYTES + TAG_BYTES), undefined, 'utf8') + cipher.final('utf8');
  } catch (cause) {
    throw new StartRefused(
      `the hubs on this database share ${name} sealed with another storage.encryptionKey: ${REMEDY}`,
      { cause },
    );
  }
}
