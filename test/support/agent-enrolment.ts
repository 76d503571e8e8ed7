/** Codes and credentials of agents, as the commands of the hub and `workbench-agent enroll` handle them. */
import { join } from 'node:path';
import { AgentCredentials } from '@workbench-hub/hub/engine/accounts/agent-credentials';
import { agentSecrets } from '@workbench-hub/hub/security/agent-secrets';
import { openAccountsDatabase } from '@workbench-hub/hub/store/sqlite/accounts/accounts-database';
import { sqliteAgentCredentials } from '@workbench-hub/hub/store/sqlite/accounts/agent-credentials';
import { AGENT_PATHS } from '@workbench-hub/shared/agent-protocol/messages';
import type { Clock } from '@workbench-hub/shared/runtime/runtime';
import { systemRuntime } from '@workbench-hub/shared/runtime/system-runtime';
import { keepSecret } from './secrets.js';

const HOUR_MS = 3_600_000;

/** Runs an action on the credentials as a command does beside the running hub, over its own connection. */
export function besideHub<T>(
  dataDir: string,
  action: (credentials: AgentCredentials) => T,
  clock: Clock = systemRuntime.clock,
): T {
  const db = openAccountsDatabase(join(dataDir, 'accounts.sqlite'));
  try {
    const store = sqliteAgentCredentials(db);
    return action(new AgentCredentials({ store, secrets: agentSecrets, clock, joinToken: null }));
  } finally {
    db.close();
  }
}

export function offerCode(
  dataDir: string,
  agentId: string,
  validMs = HOUR_MS,
  clock: Clock = systemRuntime.clock,
): string {
  const { code } = besideHub(dataDir, (credentials) => credentials.offer(agentId, validMs), clock);
  keepSecret(code);
  return code;
}

/** Sends an enrolment request unchanged. */
export async function askToEnroll(
  address: string,
  body: string | Uint8Array | ReadableStream,
  headers: Readonly<Record<string, string>> = {},
): Promise<{ status: number; text: string; headers: Headers }> {
  const response = await fetch(address + AGENT_PATHS.ENROLL, {
    method: 'POST',
    headers,
    body,
    duplex: 'half',
  } as RequestInit);
  return { status: response.status, text: await response.text(), headers: response.headers };
}

/** Creates a code and exchanges it for a credential. */
export async function enrolled(
  { address, config }: { readonly address: string; readonly config: { readonly dataDir: string } },
  agentId: string,
): Promise<string> {
  const code = offerCode(config.dataDir, agentId);
  const { status, text } = await askToEnroll(address, JSON.stringify({ agentId, code }));
  if (status !== 200) throw new Error(`the hub answered ${status}: ${text}`);
  const { credential } = JSON.parse(text) as { credential: string };
  keepSecret(credential);
  return credential;
}
