/** Authorities of the system's store, which browsers trust, too: those of a company are there. */
import tls from 'node:tls';

/** The part of `node:tls` that reads stores: Node.js 22.19, 24.5 and newer. */
export interface Stores {
  readonly getCACertificates?: (of: 'default' | 'system') => string[];
  readonly setDefaultCACertificates?: (certificates: readonly string[]) => void;
}

let isSystemTrusted = false;

/** Whether connections that name no authority trust those of the system. */
export function trustsSystemAuthorities(): boolean {
  return isSystemTrusted;
}

/**
 * Has all connections of this process that name no authority trust those of the system besides those of Node.js. Returns a sentence
 * when the store cannot be read; those of Node.js are trusted then. Does nothing in a Node.js that cannot read stores.
 */
export function trustSystemAuthorities(stores = tls as Stores): string | null {
  const { getCACertificates, setDefaultCACertificates } = stores;
  if (getCACertificates === undefined || setDefaultCACertificates === undefined) return null;
  try {
    // A Linux has most of them in two places, and those of Node.js, too.
    setDefaultCACertificates([...new Set([...getCACertificates('default'), ...getCACertificates('system')])]);
    isSystemTrusted = true;
    return null;
  } catch (error) {
    return `the authorities that this system trusts cannot be read: ${(error as Error).message}`;
  }
}
