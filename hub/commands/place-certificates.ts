import type { HubConfig } from '../config.js';
import { trustedCertificates } from '../security/trusted-certificates.js';

/** Certificates of the object store of blobs, in PEM; null for Node's. Rejects with `StartRefused`. */
export async function placeCertificates({ storage }: Pick<HubConfig, 'storage'>): Promise<string | null> {
  const file = storage.s3?.ca ?? null;
  return file === null ? null : trustedCertificates(file, 'storage.s3.ca');
}
