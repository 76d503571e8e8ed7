/** Codes and credentials of agents, as the commands of the hub and `workbench-agent enroll` handle them. */
import { AgentCredentials } from '@workbench-hub/hub/engine/accounts/agent-credentials';
import { agentSecrets } from '@workbench-hub/hub/security/agent-secrets';
import { openAccountStore } from '@workbench-hub/hub/store/open-store';
import { AGENT_PATHS } from '@workbench-hub/shared/agent-protocol/messages';
import type { Clock } from '@workbench-hub/shared/runtime/runtime';
import { systemRuntime } from '@workbench-hub/shared/runtime/system-runtime';
import { keepSecret } from '../secrets.js';
import { storeSettingsFor } from '../stores/tested-store.js';

const HOUR_MS = 3_600_000;

/** Runs an action on the credentials as a command does beside the running hub, over its own connection. */
export async function besideHub<T>(
  dataDir: string,
  action: (credentials: AgentCredentials) => Promise<T>,
  clock: Clock = systemRuntime.clock,
): Promise<T> {
  const { agentCredentials: store, close } = await openAccountStore(
    await storeSettingsFor(dataDir),
    systemRuntime,
  );
  try {
    return await action(new AgentCredentials({ store, secrets: agentSecrets, clock, joinToken: null }));
  } finally {
    await close();
  }
}

export async function offerCode(
  dataDir: string,
  agentId: string,
  validMs = HOUR_MS,
  clock: Clock = systemRuntime.clock,
): Promise<string> {
  const { code } = await besideHub(dataDir, (credentials) => credentials.offer(agentId, validMs), clock);
  keepSecret(code);
  return code;
}

/** Sends an enrollment request unchanged. */
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
  const code = await offerCode(config.dataDir, agentId);
  const { status, text } = await askToEnroll(address, JSON.stringify({ agentId, code }));
  if (status !== 200) throw new Error(`the hub answered ${status}: ${text}`);
  const { credential } = JSON.parse(text) as { credential: string };
  keepSecret(credential);
  return credential;
}
