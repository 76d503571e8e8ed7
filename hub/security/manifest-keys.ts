import { join } from 'node:path';
import type { TextSigner } from '../core/ports/text-signer.js';
import { keyLines } from './key-lines.js';
import { textSigner } from './text-signer.js';

export const MANIFEST_KEYS_FILE = 'manifest-keys';

/** Keys that sign manifests: the lines of `<dataDir>/manifest-keys`, as {@link keyLines}. */
export function manifestKeys(dataDir: string): Promise<Buffer[]> {
  return keyLines(join(dataDir, MANIFEST_KEYS_FILE), {
    abuse: 'sign manifests',
    consequence: 'which does not verify earlier manifests',
  });
}

/** Signer with the keys of the data folder. Throws as {@link keyLines} does. */
export async function openManifestSigner(dataDir: string): Promise<TextSigner> {
  return textSigner(await manifestKeys(dataDir));
}
