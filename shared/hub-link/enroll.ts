/** Enrollment by a command: the one-time code of an operator becomes a credential in a file. */
import { mkdir, open, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { createInterface } from 'node:readline/promises';
import { JoinFailed } from '../joining/ports/hub.js';
import { PRIVATE_FOLDER_MODE } from '../runtime/private-files.js';
import { replaceFile } from '../runtime/replace-file.js';
import { StartRefused } from '../runtime/run-program.js';
import { type Enrolled, fetchCredential } from './enrollment.js';
import { hubConnections, TlsFiles } from './tls.js';

export interface EnrollOptions {
  readonly addresses: readonly string[];
  readonly agentId: string;
  readonly tls: ConstructorParameters<typeof TlsFiles>[0];
  /** File that keeps the credential. */
  readonly file: string;
  /** Keeps the keys with which the hub signs orders to update. */
  readonly pinKeys?: (keys: readonly string[]) => Promise<void>;
}

/** Reads the code from the terminal or from standard input, and keeps the credential. Rejects with {@link StartRefused}. */
export async function enroll({ addresses, agentId, tls, file, pinKeys }: EnrollOptions): Promise<void> {
  const code = await readCode();
  if (code === '') throw new StartRefused('no code was given: enter it on standard input');
  const dispatcher = hubConnections(new TlsFiles(tls));
  try {
    const { credential, updateKeys } = await fromFirstHub(addresses, (address) =>
      fetchCredential(address, { agentId, code, dispatcher }),
    );
    await keepCredential(file, credential);
    await pinKeys?.(updateKeys);
  } catch (error) {
    if (error instanceof JoinFailed) throw new StartRefused(error.message, { cause: error });
    throw error;
  } finally {
    await dispatcher.destroy();
  }
}

async function readCode(): Promise<string> {
  const input = createInterface({
    input: process.stdin,
    output: process.stderr,
    terminal: process.stdin.isTTY,
  });
  try {
    if (process.stdin.isTTY) return (await input.question('Code: ')).trim();
    for await (const line of input) if (line.trim() !== '') return line.trim();
    return '';
  } finally {
    input.close();
  }
}

/** Hubs of a cluster know the same codes; an unreachable one is skipped. */
async function fromFirstHub(
  addresses: readonly string[],
  fetchFrom: (address: string) => Promise<Enrolled>,
): Promise<Enrolled> {
  const failures: string[] = [];
  for (const address of addresses) {
    try {
      return await fetchFrom(address);
    } catch (error) {
      if (!(error instanceof JoinFailed)) throw error;
      failures.push(error.message);
    }
  }
  throw new JoinFailed(failures.join('\n'));
}

/** Writes the credential atomically to a file that only this user may read. */
async function keepCredential(file: string, credential: string): Promise<void> {
  await mkdir(dirname(file), { recursive: true, mode: PRIVATE_FOLDER_MODE });
  const fresh = `${file}.new`;
  // A file of an interrupted run might be readable by others.
  await rm(fresh, { force: true });
  const handle = await open(fresh, 'wx', 0o600);
  try {
    await handle.writeFile(`${credential}\n`);
    await handle.sync();
  } finally {
    await handle.close();
  }
  await replaceFile(fresh, file);
}
