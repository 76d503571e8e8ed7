/** Authorities of the system's store, which browsers trust, too: those of a company are there. */
import tls, { rootCertificates } from 'node:tls';
import { tell } from './console.js';

/** The part of `node:tls` that reads stores: Node.js 22.19, 24.5 and newer. */
interface Stores {
  readonly getCACertificates?: (of: 'default' | 'system') => string[];
  readonly setDefaultCACertificates?: (certificates: readonly string[]) => void;
}

const { getCACertificates, setDefaultCACertificates } = tls as Stores;

/** Whether this Node.js can read the store of the system. */
export const READS_SYSTEM_STORE = getCACertificates !== undefined && setDefaultCACertificates !== undefined;

let areTrusted = false;

/** Has all connections that name no authority trust those of the system besides those of Node.js, where it can read the store. */
export function trustSystemAuthorities(): void {
  if (areTrusted || getCACertificates === undefined || setDefaultCACertificates === undefined) return;
  areTrusted = true;
  try {
    // A Linux has most of them in two places, and those of Node.js, too.
    setDefaultCACertificates([...new Set([...getCACertificates('default'), ...getCACertificates('system')])]);
  } catch (error) {
    tell(`wb: the authorities that this system trusts cannot be read: ${(error as Error).message}`);
  }
}

/** The authorities of connections that name none, in PEM. */
export function trustedAuthorities(): readonly string[] {
  trustSystemAuthorities();
  return getCACertificates?.('default') ?? rootCertificates;
}
