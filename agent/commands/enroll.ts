/** `workbench-agent enroll`: exchanges a one-time code for a credential of this agent. */
import { enroll } from '@workbench-hub/shared/hub-link/enroll';
import { pinKeys } from '@workbench-hub/shared/hub-link/pinned-keys';
import { type AgentConfig, credentialFileOf, hubAddresses } from '../config.js';
import { trustSystemFor } from '../trusted-authorities.js';

/** Reads the code from the terminal or from standard input. Returns a message for the operator; rejects with `StartRefused`. */
export async function enrollAgent(config: AgentConfig): Promise<string> {
  const { id: agentId, tls, dataDir } = config;
  const file = credentialFileOf(config);
  // Where they cannot be read, the connection says whom it would have to trust.
  trustSystemFor(config);
  await enroll({
    addresses: hubAddresses(config),
    agentId,
    tls,
    file,
    pinKeys: (keys) => pinKeys(dataDir, keys),
  });
  const setting = config.token !== null ? 'token' : config.tokenFile !== null ? 'tokenFile' : undefined;
  const note = setting && ` Now remove "${setting}" from the configuration: while set, it takes precedence.`;
  return `Agent ${agentId} is enrolled; its credential is kept in ${file}.${note ?? ''}`;
}
