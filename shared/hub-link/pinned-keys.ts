/** Keys of the hub that this agent was enrolled at: orders to update are obeyed only with a signature of one of them. */
import { createPublicKey, verify } from 'node:crypto';
import { readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { type SignedText, type UpdateOrder, updateOrder } from '../agent-protocol/messages.js';
import { replacePrivateFile } from '../runtime/private-files.js';
import { parsedJson } from './parsed-json.js';

const KEY = /^[\w-]{43}$/;

/** Path of the file in a data folder, with a key in each line: `x` of a JWK for Ed25519 (RFC 8037). */
export function pinnedKeysFile(dataDir: string): string {
  return join(dataDir, 'update-keys');
}

/** Keeps the keys of a hub, also none, in place of those of an earlier one. Rejects with the error of the disk. */
export async function pinKeys(dataDir: string, keys: readonly string[]): Promise<void> {
  if (keys.length === 0) await rm(pinnedKeysFile(dataDir), { force: true });
  else await replacePrivateFile(pinnedKeysFile(dataDir), keys.map((key) => `${key}\n`).join(''));
}

/** The pinned keys; none for an agent that was not enrolled at a hub with such keys. */
export async function pinnedKeys(dataDir: string): Promise<string[]> {
  try {
    const text = await readFile(pinnedKeysFile(dataDir), 'utf8');
    return text.split('\n').filter((line) => KEY.test(line));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw error;
  }
}

/** The order that one of the keys has signed; undefined without such a signature. */
export function verifiedOrder(signed: SignedText, keys: readonly string[]): UpdateOrder | undefined {
  const text = Buffer.from(`${signed.protected}.${signed.payload}`);
  const signature = Buffer.from(signed.signature, 'base64url');
  const isSigned = keys.some((x) => {
    const key = createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x }, format: 'jwk' });
    return verify(null, text, key, signature);
  });
  if (!isSigned) return undefined;
  return updateOrder.safeParse(parsedJson(Buffer.from(signed.payload, 'base64url').toString())).data;
}
