/** Token or credential of this hub at an upstream, as configured. */
import { access } from 'node:fs/promises';
import { type AgentSecret, agentSecret } from '@workbench-hub/shared/hub-link/secret';
import { StartRefused } from '@workbench-hub/shared/runtime/run-program';
import { credentialFileOf, type UpstreamConfig, upstreamName } from './upstream-config.js';

/** Rejects with {@link StartRefused} for an upstream without token and credential. */
export async function upstreamSecret(
  upstream: UpstreamConfig,
  config: { readonly dataDir: string },
): Promise<AgentSecret> {
  const { id, token, tokenFile } = upstream;
  const enrollCommand = `workbench-hub upstream enroll ${upstreamName(upstream)}`;
  if (token !== null) return agentSecret({ token }, enrollCommand);
  if (tokenFile !== null) return agentSecret({ tokenFile }, enrollCommand);
  const credentialFile = credentialFileOf(config, upstream);
  try {
    await access(credentialFile);
  } catch (error) {
    throw new StartRefused(
      `upstream ${upstreamName(upstream)}: there is no token or credential: either run "workbench-hub agent enroll ${id}" there and ` +
        `"${enrollCommand}" with this configuration here, which asks for the code that the former printed; or, unless it has ` +
        'agents.enrolledOnly, set token of this upstream to its agents.token, or tokenFile to the path of a file that holds it',
      { cause: error },
    );
  }
  return agentSecret({ credentialFile, agentId: id }, enrollCommand);
}
