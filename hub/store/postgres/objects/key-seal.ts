/** Sealing of key files for rows of the database (AES-256-GCM), under a key that the database does not have: who reads it, or a copy of it,
 *  learns none of the keys. */
import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto';
import { StartRefused } from '@workbench-hub/shared/runtime/run-program';

const PREFIX = 'sealed:1:';
const CIPHER = 'aes-256-gcm';
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

const REMEDY =
  'set the same storage.encryptionKey in the configuration of all hubs on this database; where none is set, it is the content of the ' +
  'file storage-key in the dataDir of the hub that runs. If that key is lost, delete all rows of the table key_file: ' +
  'access tokens and the join token are then made anew';

export interface KeySeal {
  /** Row of a file with this name and content. */
  seal(name: string, content: string): string;
  /** Whether the row was sealed with the first of the keys. */
  isOwn(name: string, row: string): boolean;
  /** Content of a file by its row, which may be older and not sealed. Throws `StartRefused` for one that was sealed with a key that is
   *  none of these. */
  open(name: string, row: string): string;
}

/** @param keys Storage keys; the first one seals. */
export function keySeal(keys: readonly [Buffer, ...Buffer[]]): KeySeal {
  const [first, ...others] = keys.map((key) =>
    Buffer.from(hkdfSync('sha256', key, '', 'workbench-hub key files 1', 32)),
  ) as [Buffer, ...Buffer[]];
  return {
    seal: (name, content) => sealed(first, name, content),
    isOwn: (name, row) => isSealed(row) && opened(first, name, row) !== undefined,
    open: (name, row) => {
      if (!isSealed(row)) return row;
      for (const key of [first, ...others]) {
        const content = opened(key, name, row);
        if (content !== undefined) return content;
      }
      throw new StartRefused(`the hubs on this database share ${name} sealed with another key: ${REMEDY}`);
    },
  };
}

/** Refusal of a start without any storage key. */
export function sealedWithout(name: string): StartRefused {
  return new StartRefused(
    `the hubs on this database share ${name} sealed, and this one has no key for it: ${REMEDY}`,
  );
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

/** Content of a row; undefined when it was sealed with another key. */
function opened(key: Buffer, name: string, row: string): string | undefined {
  const bytes = Buffer.from(row.slice(PREFIX.length), 'base64');
  const nonce = bytes.subarray(0, NONCE_BYTES);
  const tag = bytes.subarray(NONCE_BYTES, NONCE_BYTES + TAG_BYTES);
  try {
    const cipher = createDecipheriv(CIPHER, key, nonce, { authTagLength: TAG_BYTES })
      .setAAD(Buffer.from(name))
      .setAuthTag(tag);
    return cipher.update(bytes.subarray(NONCE_BYTES + TAG_BYTES), undefined, 'utf8') + cipher.final('utf8');
  } catch {
    return undefined;
  }
}
