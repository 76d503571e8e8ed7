/** `workbench-agent enroll`: exchanges a one-time code for a credential of this agent. */
import { createInterface } from 'node:readline/promises';
import { fetchCredential } from '@workbench-hub/shared/hub-link/enrollment';
import { hubConnections, TlsFiles } from '@workbench-hub/shared/hub-link/tls';
import { JoinFailed } from '@workbench-hub/shared/joining/ports/hub';
import { StartRefused } from '@workbench-hub/shared/runtime/run-program';
import { type AgentConfig, credentialFileOf, hubAddresses } from '../config.js';
import { keepCredential } from '../disk/credential-file.js';

/** Reads the code from the terminal or from standard input. Returns a message for the operator; rejects with {@link
 *  StartRefused}. */
export async function enroll(config: AgentConfig): Promise<string> {
  const code = await readCode();
  if (code === '') throw new StartRefused('no code was given: enter it on standard input');
  const dispatcher = hubConnections(new TlsFiles(config.tls));
  try {
    const credential = await fromFirstHub(hubAddresses(config), (address) =>
      fetchCredential(address, { agentId: config.id, code, dispatcher }),
    );
    const file = credentialFileOf(config);
    await keepCredential(file, credential);
    const setting = config.token !== null ? 'token' : config.tokenFile !== null ? 'tokenFile' : undefined;
    const note =
      setting && ` Now remove "${setting}" from the configuration: while set, it takes precedence.`;
    return `Agent ${config.id} is enrolled; its credential is kept in ${file}.${note ?? ''}`;
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
  fetchFrom: (address: string) => Promise<string>,
): Promise<string> {
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
