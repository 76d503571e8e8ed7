/** Checks of the hubs that the examined hub joins. */
import { type Finding, faultWithRemedy, ok, warning } from '@workbench-hub/shared/checks/finding';
import { askStatus, type StatusAnswer } from '@workbench-hub/shared/hub-link/link-status';
import { readTlsFiles } from '@workbench-hub/shared/hub-link/tls';
import { StartRefused } from '@workbench-hub/shared/runtime/run-program';
import type { Runtime } from '@workbench-hub/shared/runtime/runtime';
import type { HubConfig } from '../../config.js';
import { type UpstreamConfig, upstreamAddresses, upstreamName } from '../../upstream-config.js';
import { upstreamSecret } from '../../upstream-secret.js';

type StatusRuntime = Pick<Runtime, 'clock' | 'timers'>;

/** Asks each upstream whether this hub could join it; the hub does not join. */
export async function checkUpstreamLinks(config: HubConfig, runtime: StatusRuntime): Promise<Finding[]> {
  const findings: Finding[] = [];
  for (const upstream of config.upstreams) findings.push(...(await checkUpstream(upstream, config, runtime)));
  return findings;
}

async function checkUpstream(
  upstream: UpstreamConfig,
  config: HubConfig,
  runtime: StatusRuntime,
): Promise<Finding[]> {
  const check = `upstream ${upstreamName(upstream)}`;
  const { id: agentId, tls } = upstream;
  try {
    const secret = await upstreamSecret(upstream, config);
    const findings: Finding[] = [];
    for (const address of upstreamAddresses(upstream)) {
      const answer = await askStatus(address, { agentId, secret, tls: () => readTlsFiles(tls), runtime });
      findings.push(findingOf(answer, { check, address, agentId }));
    }
    return findings;
  } catch (error) {
    if (!(error instanceof StartRefused)) throw error;
    return [faultWithRemedy(check, error.message)];
  }
}

function findingOf(
  answer: StatusAnswer,
  { check, address, agentId }: { readonly check: string; readonly address: string; readonly agentId: string },
): Finding {
  if (answer.kind === 'UNREACHABLE')
    return warning(check, `${address}: ${answer.reason}`, 'this hub joins it when it is back');
  if (answer.kind !== 'ANSWERED') return faultWithRemedy(check, `${address}: ${answer.reason}`);
  const { status } = answer;
  if (status && status.fault !== null) return faultWithRemedy(check, `${address}: ${status.fault}`);
  if (status?.takesHubs !== true)
    return warning(check, `${address} takes agents only, no hubs: its version is older`, 'update that hub');
  return ok(check, `${address}, version ${status.hubVersion}, accepts this hub as ${agentId}`);
}
