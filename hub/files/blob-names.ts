/** Names and folders of blob files in the store. */
import { createHmac, hkdfSync } from 'node:crypto';

/** Names that contain the digest: of plain blobs, and of encrypted ones from before `.sealed`. */
const PLAIN_NAME = /^[0-9a-f]{64}$/;
const FORMER_NAME = /^[0-9a-f]{64}\.enc$/;
const KEYED_NAME = /^[0-9a-f]{64}\.sealed$/;

/** Folder of a file. */
export function folderOfName(name: string): string {
  return name.slice(0, 2);
}

/** File name of a plain blob. */
export function plainName(digest: string): string {
  return digest;
}

/** File names of encrypted blobs: a digest keyed with the storage key, so that a name does not reveal the blob or
 *  confirm a guess. */
export class KeyedNames {
  readonly #key: Buffer;

  /** `storageKey` has 32 bytes. */
  constructor(storageKey: Buffer) {
    this.#key = Buffer.from(hkdfSync('sha256', storageKey, '', 'workbench-hub content name 1', 32));
  }

  /** Keyed digest of a SHA-256, 32 bytes. */
  idOf(digest: string): Buffer {
    return createHmac('sha256', this.#key).update(Buffer.from(digest, 'hex')).digest();
  }

  nameOf(digest: string): string {
    return `${this.idOf(digest).toString('hex')}.sealed`;
  }
}

export function isPlainName(name: string): boolean {
  return PLAIN_NAME.test(name);
}

/** True for the file name of an encrypted blob. */
export function isEncryptedName(name: string): boolean {
  return KEYED_NAME.test(name);
}

/** Name of an encrypted blob before names were keyed. */
export function formerEncryptedName(digest: string): string {
  return `${digest}.enc`;
}

export function isFormerEncryptedName(name: string): boolean {
  return FORMER_NAME.test(name);
}

/** Path of a blob below the store's folder: `ab/ab…`. Undefined for an encrypted one without the storage key. */
export function blobPath(
  { digest, encrypted }: { readonly digest: string; readonly encrypted: boolean },
  names: KeyedNames | null,
): string | undefined {
  const name = encrypted ? names?.nameOf(digest) : plainName(digest);
  return name === undefined ? undefined : `${folderOfName(name)}/${name}`;
}

/** Digest of the plain blob with this path; undefined for any other path. */
export function plainDigestOfPath(path: string): string | undefined {
  return /^([0-9a-f]{2})\/(\1[0-9a-f]{62})$/.exec(path)?.[2];
}
