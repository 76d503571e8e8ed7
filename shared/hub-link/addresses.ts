import { AGENT_PATHS, STATUS_QUERY } from '../agent-protocol/messages.js';

/** URL of the WebSocket below a hub's base address (`ws://` or `wss://`, optionally with a path). */
export function connectUrl(address: string): string {
  return `${trimmed(address)}${AGENT_PATHS.CONNECT}`;
}

/** URL of the WebSocket on which the hub says whether this agent could join. */
export function statusUrl(address: string, agentId: string): string {
  return `${connectUrl(address)}?${STATUS_QUERY}=${encodeURIComponent(agentId)}`;
}

/** URL of a blob, over HTTP on the same host, port and path. */
export function fileUrl(address: string, digest: string): string {
  return `${trimmed(address).replace(/^ws/i, 'http')}${AGENT_PATHS.FILES}/${digest}`;
}

/** URL of the enrollment. */
export function enrollmentUrl(address: string): string {
  return `${trimmed(address).replace(/^ws/i, 'http')}${AGENT_PATHS.ENROLL}`;
}

/** URL at which a hub says that it runs. */
export function livenessUrl(address: string): string {
  return `${trimmed(address).replace(/^ws/i, 'http')}/livez`;
}

function trimmed(address: string): string {
  return address.replace(/\/+$/, '');
}
