/** Checks of the connection to each configured hub. */

import { AGENT_PROTOCOL_VERSIONS, type LinkStatus } from '@workbench-hub/shared/agent-protocol/messages';
import { type Finding, fault, faultWithRemedy, ok, warning } from '@workbench-hub/shared/checks/finding';
import { askStatus, reachServer } from '@workbench-hub/shared/hub-link/link-status';
import { hubConnections, readTlsFiles, TlsFiles } from '@workbench-hub/shared/hub-link/tls';
import { StartRefused } from '@workbench-hub/shared/runtime/run-program';
import type { Runtime } from '@workbench-hub/shared/runtime/runtime';
import { secretOf } from '../../agent-secret.js';
import { type AgentConfig, hubAddresses } from '../../config.js';
import { trustSystemFor } from '../../trusted-authorities.js';

/** Tolerance for the time that a message takes. */
const MAX_OFFSET_MS = 5000;

/** Asks each hub whether this agent could join it; the agent does not join. */
export async function checkHubs(config: AgentConfig, runtime: Runtime): Promise<Finding[]> {
  const secret = await secretOf(config).catch((error: unknown) => {
    if (error instanceof StartRefused) return undefined;
    throw error;
  });
  const findings: Finding[] = [];
  const unread = trustSystemFor(config);
  if (unread !== null)
    findings.push(warning('authorities', unread, 'set tls.ca, or correct the store of this system'));
  for (const address of hubAddresses(config)) {
    // The absence of a secret has its own finding.
    const answer = secret
      ? await askStatus(address, { agentId: config.id, secret, tls: () => readTlsFiles(config.tls), runtime })
      : ((await reachAddress(config, address)) ?? { kind: 'REACHED' as const });
    const reached = ok('hub', `a server answers at ${address}`);
    switch (answer.kind) {
      case 'UNREACHABLE':
        findings.push(faultWithRemedy('hub', `${address}: ${answer.reason}`));
        break;
      case 'UNTRUSTED':
        findings.push(reached, faultWithRemedy('TLS', `${address}: ${answer.reason}`));
        break;
      case 'REACHED':
        findings.push(reached, ...tlsFindings(address));
        break;
      case 'REFUSED':
        findings.push(reached, ...tlsFindings(address), faultWithRemedy('credential', answer.reason));
        break;
      case 'ANSWERED':
        findings.push(reached, ...tlsFindings(address), ...joinFindings(config, answer));
    }
  }
  return findings;
}

async function reachAddress({ tls }: AgentConfig, address: string) {
  const dispatcher = hubConnections(new TlsFiles(tls));
  try {
    return await reachServer(address, dispatcher);
  } finally {
    await dispatcher.destroy();
  }
}

/** Finding about a connection that was opened. */
function tlsFindings(address: string): Finding[] {
  if (/^wss:/i.test(address)) return [ok('TLS', `the certificate of ${address} is trusted`)];
  if (/^ws:\/\/(?:localhost|127\.[\d.]+|\[::1\])[:/]?/i.test(address))
    return [ok('TLS', `not needed: ${address} is this machine`)];
  return [
    warning(
      'TLS',
      `${address} is not encrypted: others in the network can read the token and all files`,
      'give the hub a certificate, and write wss:// into "hub"',
    ),
  ];
}

interface Answered {
  readonly status: LinkStatus | undefined;
  /** Clock of this host less that of the hub. */
  readonly offsetMs: number;
}

function joinFindings({ id }: AgentConfig, { status, offsetMs }: Answered): Finding[] {
  if (status === undefined)
    return [
      ok('credential', 'accepted'),
      warning('hub', 'it is an older one, which tells neither its clock nor its protocol', 'upgrade the hub'),
    ];
  return [
    status.fault === null
      ? ok('credential', `accepted for ${id}`)
      : fault('credential', status.fault, `correct "id", or enroll this agent as ${id}`),
    clockFinding(offsetMs),
    versionFinding(status),
  ];
}

function clockFinding(offsetMs: number): Finding {
  const seconds = (Math.abs(offsetMs) / 1000).toFixed(1);
  if (Math.abs(offsetMs) <= MAX_OFFSET_MS) return ok('clock', `${seconds} s from that of the hub`);
  return warning(
    'clock',
    `${seconds} s ${offsetMs > 0 ? 'ahead of' : 'behind'} that of the hub`,
    'synchronize both hosts (chronyd, systemd-timesyncd): logs cannot be compared, and certificates may seem expired',
  );
}

function versionFinding({ hubVersion, protocolVersions }: LinkStatus): Finding {
  const check = 'protocol version';
  const common = AGENT_PROTOCOL_VERSIONS.find((version) => protocolVersions.includes(version));
  if (common !== undefined) return ok(check, `${common}, of hub version ${hubVersion}`);
  return fault(
    check,
    `the hub (version ${hubVersion}) speaks ${protocolVersions.join(', ')}, this agent ${AGENT_PROTOCOL_VERSIONS.join(', ')}`,
    'upgrade the older one of the two; the hub first',
  );
}
