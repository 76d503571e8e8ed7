import { tlsFault } from './tls.js';

/** Describes why a connection to a hub failed, with the remedy. */
export function connectionFault(error: unknown): string {
  const tls = tlsFault(error);
  if (tls !== undefined) return tls;
  const { code, message } = error as NodeJS.ErrnoException;
  switch (code) {
    case 'ECONNREFUSED':
      return 'nothing listens at this address (ECONNREFUSED): is the hub running, and is "hub" right?';
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
      return `the host name is not known (${code}): check "hub"`;
    case 'ECONNRESET':
    case 'UND_ERR_SOCKET':
      return `it closed the connection at once (${code}): a hub with TLS is reached by wss://`;
    default:
      return `${message || code || 'unknown reason'}`;
  }
}
