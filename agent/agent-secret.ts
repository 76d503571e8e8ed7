/** Token or credential of this agent, as configured. */
import { access } from 'node:fs/promises';
import { resolve } from 'node:path';
import { type AgentSecret, agentSecret } from '@workbench-hub/shared/hub-link/secret';
import { StartRefused } from '@workbench-hub/shared/runtime/run-program';
import { type AgentConfig, credentialFileOf } from './config.js';

const ENROLL = 'workbench-agent enroll';

/** Rejects with {@link StartRefused} for an agent without token and credential. */
export async function secretOf(config: AgentConfig): Promise<AgentSecret> {
  const { id, token, tokenFile } = config;
  if (token !== null) return agentSecret({ token }, ENROLL);
  if (tokenFile !== null) return agentSecret({ tokenFile }, ENROLL);
  const credentialFile = resolve(credentialFileOf(config));
  try {
    await access(credentialFile);
  } catch (error) {
    throw new StartRefused(
      `this agent has no token or credential: either run "workbench-hub agent enroll ${id}" on the hub and ` +
        '"workbench-agent enroll" with this configuration here, which asks for the code that the former printed; ' +
        "or, unless the hub has agents.enrolledOnly, set token to the hub's agents.token, or tokenFile to the path of a " +
        'file that holds it',
      { cause: error },
    );
  }
  return agentSecret({ credentialFile, agentId: id }, ENROLL);
}
