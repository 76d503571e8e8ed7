/** Agents and instances as clients see them. */
import { UNKNOWN_INSTALLATION } from '@workbench-hub/shared/domain/installation';
import type { AgentDrain } from '../../core/ports/agent-drains.js';
import type { AgentView, InstanceView } from '../../core/ports/nodes.js';
import type { Agent, Instance } from './known-instances.js';

export function instanceView(
  { profile, agentId, status, startedAtMs, attempt, lent, lentHost, isForOthers }: Instance,
  drain: AgentDrain | null,
): InstanceView {
  // The state of what an unreachable hub lends is not known.
  const told = status === 'UNKNOWN' ? null : isForOthers ? 'KEPT' : lent;
  const working = attempt !== null || told === 'IN_USE';
  const ofHub = { ...(told && { lent: told }), ...(lentHost && { lentHost }) };
  return { profile, agentId, status, startedAtMs, working, ...ofHub, drain };
}

export function agentView(agent: Agent, drain: AgentDrain | null): AgentView {
  const { id, version, revision, address, state, seenAtMs, clockOffsetMs, instances, hub } = agent;
  const { installation = UNKNOWN_INSTALLATION } = agent;
  const status = state === 'DISCONNECTED' || state === 'LOST' ? 'DOWN' : 'UP';
  const views = [...instances.values()].map((instance) => instanceView(instance, drain));
  const sorted = views.sort(byId(({ profile }) => profile.id));
  const ofHub = hub && status === 'UP' ? { hub } : {};
  return {
    id,
    version,
    revision,
    address,
    ...ofHub,
    status,
    seenAtMs,
    clockOffsetMs,
    installation,
    drain,
    instances: sorted,
  };
}

/** Comparison of items by their ids, in UTF-16 units. */
export function byId<T>(id: (item: T) => string): (a: T, b: T) => number {
  return (a, b) => (id(a) < id(b) ? -1 : id(a) > id(b) ? 1 : 0);
}
