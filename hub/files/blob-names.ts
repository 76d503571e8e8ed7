/** Where contents lie below the folder of the content store. */
import { createHmac, hkdfSync } from 'node:crypto';

/** Names that tell their content's digest: clear ones, and encrypted ones of before `.sealed`. */
const CLEAR = /^[0-9a-f]{64}$/;
const FORMER = /^[0-9a-f]{64}\.enc$/;
const SEALED = /^[0-9a-f]{64}\.sealed$/;

/** The folder of a file of this name. */
export function folderOfName(name: string): string {
  return name.slice(0, 2);
}

/** The name of the file of a clear content. */
export function plainName(digest: string): string {
  return digest;
}

/** Names the files of encrypted contents by a digest that takes the storage key, so that a name does not tell which content
 *  it holds, nor whether it is one that somebody guesses. */
export class KeyedNames {
  readonly #key: Buffer;

  /** `storageKey` has 32 bytes. */
  constructor(storageKey: Buffer) {
    this.#key = Buffer.from(hkdfSync('sha256', storageKey, '', 'workbench-hub content name 1', 32));
  }

  /** The keyed digest of a content's SHA-256, 32 bytes. */
  idOf(digest: string): Buffer {
    return createHmac('sha256', this.#key).update(Buffer.from(digest, 'hex')).digest();
  }

  nameOf(digest: string): string {
    return `${this.idOf(digest).toString('hex')}.sealed`;
  }
}

export function isPlainName(name: string): boolean {
  return CLEAR.test(name);
}

/** Whether a file of this name holds an encrypted content. */
export function isEncryptedName(name: string): boolean {
  return SEALED.test(name);
}

/** The name that an encrypted content had before names were keyed. */
export function formerEncryptedName(digest: string): string {
  return `${digest}.enc`;
}

export function isFormerEncryptedName(name: string): boolean {
  return FORMER.test(name);
}

/** Where the file of a content is, below the folder of the store: `ab/ab…`. Without the storage key nobody knows where an
 *  encrypted one is. */
export function blobPath(
  { digest, encrypted }: { readonly digest: string; readonly encrypted: boolean },
  names: KeyedNames | null,
): string | undefined {
  const name = encrypted ? names?.nameOf(digest) : plainName(digest);
  return name === undefined ? undefined : `${folderOfName(name)}/${name}`;
}

/** The digest of a clear content that has this path; undefined for any other path. */
export function clearDigestOfPath(path: string): string | undefined {
  return /^([0-9a-f]{2})\/(\1[0-9a-f]{62})$/.exec(path)?.[2];
}
