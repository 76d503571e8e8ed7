/** The connected agents by build, installation and system, as samples of a gauge. */
import { isOwnAgentId } from '../core/own-agent.js';
import type { AgentView } from '../core/ports/nodes.js';
import type { Sample } from './hub-metrics.js';

export const AGENT_BUILD_LABELS = ['version', 'installation', 'os', 'arch'] as const;

/** Agents choose the text of their version: only so many have samples of their own. */
const MAX_VERSIONS = 20;
const OTHER = 'other';
const UNKNOWN = 'unknown';

/** Counts the agents, without joined hubs and the instances of the hub itself. Versions beyond the most frequent ones count together. */
export function agentBuilds(agents: readonly AgentView[]): Sample[] {
  const counted = agents.filter(({ id, status, hub }) => status === 'UP' && !hub && !isOwnAgentId(id));
  const named = frequentVersions(counted);
  const samples = new Map<string, Sample>();
  for (const { version, installation } of counted) {
    const { kind, os, arch } = installation;
    const labels = [named.has(version) ? version : OTHER, kind ?? UNKNOWN, os ?? UNKNOWN, arch ?? UNKNOWN];
    const key = JSON.stringify(labels);
    samples.set(key, { labels, value: (samples.get(key)?.value ?? 0) + 1 });
  }
  return [...samples.values()];
}

function frequentVersions(agents: readonly AgentView[]): Set<string> {
  const counts = new Map<string, number>();
  for (const { version } of agents) counts.set(version, (counts.get(version) ?? 0) + 1);
  const byCount = [...counts].sort(([, a], [, b]) => b - a);
  return new Set(byCount.slice(0, MAX_VERSIONS).map(([version]) => version));
}
