import { AGENT_PATHS } from '@workbench-hub/shared/agent-protocol/messages';

/** URL of the WebSocket below a hub's base address (`ws://` or `wss://`, optionally with a path). */
export function connectUrl(address: string): string {
  return `${trimmed(address)}${AGENT_PATHS.CONNECT}`;
}

/** URL of a blob, over HTTP on the same host, port and path. */
export function fileUrl(address: string, digest: string): string {
  return `${trimmed(address).replace(/^ws/i, 'http')}${AGENT_PATHS.FILES}/${digest}`;
}

/** URL of the enrolment. */
export function enrolmentUrl(address: string): string {
  return `${trimmed(address).replace(/^ws/i, 'http')}${AGENT_PATHS.ENROLL}`;
}

function trimmed(address: string): string {
  return address.replace(/\/+$/, '');
}
