import { X509Certificate } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { StartRefused } from '@workbench-hub/shared/runtime/run-program';

/** Certificates of a PEM file. Throws {@link StartRefused} that names `key` when the file is unreadable or has no
 *  certificate. */
export async function trustedCertificates(file: string, key: string): Promise<string> {
  try {
    const pem = await readFile(file, 'utf8');
    new X509Certificate(pem);
    return pem;
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code ?? 'unknown reason';
    const what = code.startsWith('ERR_') ? 'holds no certificate in PEM' : `cannot be read (${code})`;
    throw new StartRefused(`the file ${file} of ${key} ${what}`, { cause: error });
  }
}
