import { DialRefused } from '../agent-protocol/dial.js';
import { tlsFault } from './tls.js';

/** Describes why a connection to a hub failed, with the remedy. */
export function connectionFault(error: unknown): string {
  const tls = tlsFault(error);
  if (tls !== undefined) return tls;
  const { code, message } = error as NodeJS.ErrnoException;
  switch (code) {
    case 'ECONNREFUSED':
      return 'nothing listens at this address (ECONNREFUSED): is the hub running, and is the address right?';
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
      return `the host name is not known (${code}): check the configured address`;
    case 'ECONNRESET':
    case 'UND_ERR_SOCKET':
      return `it closed the connection at once (${code}): a hub with TLS is reached by wss://`;
    default:
      return `${message || code || 'unknown reason'}`;
  }
}

/** Describes why a WebSocket could not be opened, with the remedy. */
export function dialFailure(error: unknown, adviceOnSecret: string): string {
  if (!(error instanceof DialRefused)) return connectionFault(error);
  if (error.status === 401) return `${adviceOnSecret}; the log of the hub has the reason`;
  if (NOT_READY.has(error.status)) {
    return `no hub is ready at this address (${error.message}): it starts or stops, has lost its database, or a proxy does not reach it`;
  }
  return `the server at this address is not a hub, or a proxy in front of it blocks WebSocket (${error.message}): check the configured address`;
}

/** Statuses of a hub that lets no agent join now, and of proxies that reach no hub. */
const NOT_READY: ReadonlySet<number> = new Set([502, 503, 504]);
