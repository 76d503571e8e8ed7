/** Whether limits of instances would be kept on this host. */
import { type AgentConfig, instanceSettings } from './config.js';
import type { FoundControlGroups } from './process/control-groups.js';

/** Sentence with the instances whose limits would not be kept, and the remedy; null when there are none. */
export function limitsFault(config: AgentConfig, found: FoundControlGroups): string | null {
  const ids = instanceSettings(config).flatMap(({ id, limits }) => (limits === null ? [] : [id]));
  if (ids.length === 0) return null;
  const beginning = `limits of ${ids.join(', ')}`;
  if ('unavailable' in found) return `${beginning}: nothing would keep them here, since ${found.unavailable}`;
  if (found.groups.keepsLimits) return null;
  return `${beginning}: only job objects of Windows keep them; on Linux, set MemoryMax= and CPUQuota= in the unit of the agent`;
}
