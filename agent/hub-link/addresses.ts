import { AGENT_PATHS } from '@workbench-hub/shared/agent-protocol/messages';

/** Of the WebSocket, beneath a hub's base address (`ws://` or `wss://`, perhaps with a path). */
export function connectUrl(address: string): string {
  return `${trimmed(address)}${AGENT_PATHS.CONNECT}`;
}

/** Of a content, over HTTP on the same host, port and path. */
export function fileUrl(address: string, digest: string): string {
  return `${trimmed(address).replace(/^ws/i, 'http')}${AGENT_PATHS.FILES}/${digest}`;
}

/** Where an agent fetches its credential. */
export function enrolmentUrl(address: string): string {
  return `${trimmed(address).replace(/^ws/i, 'http')}${AGENT_PATHS.ENROLL}`;
}

function trimmed(address: string): string {
  return address.replace(/\/+$/, '');
}
