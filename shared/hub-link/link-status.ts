/** Asks a hub whether this agent could join, without joining it. */

import { type Dispatcher, request } from 'undici';
import { DialRefused, type DialTls, dialForStatus } from '../agent-protocol/dial.js';
import { type LinkStatus, linkStatus } from '../agent-protocol/messages.js';
import { JoinFailed } from '../joining/ports/hub.js';
import type { Runtime } from '../runtime/runtime.js';
import { livenessUrl, statusUrl } from './addresses.js';
import { connectionFault, dialFailure } from './connection-failures.js';
import { parsedJson } from './parsed-json.js';
import type { AgentSecret } from './secret.js';
import { tlsFault } from './tls.js';

export interface StatusOptions {
  readonly agentId: string;
  readonly secret: AgentSecret;
  readonly tls: () => Promise<DialTls>;
  readonly runtime: Pick<Runtime, 'clock' | 'timers'>;
}

/** Result of the question; a `reason` contains the remedy. */
export type StatusAnswer =
  /** `status` is undefined for an older hub; `offsetMs` is the clock of this host less that of the hub. */
  | { readonly kind: 'ANSWERED'; readonly status: LinkStatus | undefined; readonly offsetMs: number }
  /** No hub answers at this address, or this host's own files are unusable. */
  | { readonly kind: 'UNREACHABLE'; readonly reason: string }
  | { readonly kind: 'UNTRUSTED'; readonly reason: string }
  /** The token or credential is not accepted. */
  | { readonly kind: 'REFUSED'; readonly reason: string };

const TIMEOUT_MS = 10_000;

/** Never rejects for what an operator can correct. `signal` ends the question: the hub counts as unreachable. */
export async function askStatus(
  address: string,
  { agentId, secret, tls, runtime }: StatusOptions,
  signal?: AbortSignal,
): Promise<StatusAnswer> {
  try {
    const options = { token: await secret.read(), tls: await tls(), handshakeTimeoutMs: TIMEOUT_MS };
    const url = statusUrl(address, agentId);
    const { text, receivedAtMs } = await dialForStatus({ ...options, url }, runtime, signal);
    const parsed = linkStatus.safeParse(parsedJson(text ?? ''));
    if (!parsed.success) return { kind: 'ANSWERED', status: undefined, offsetMs: 0 };
    return { kind: 'ANSWERED', status: parsed.data, offsetMs: receivedAtMs - parsed.data.clockMs };
  } catch (error) {
    if (error instanceof JoinFailed) return { kind: 'UNREACHABLE', reason: error.message };
    const reason = dialFailure(error, secret.advice);
    if (error instanceof DialRefused && error.status === 401) return { kind: 'REFUSED', reason };
    return { kind: tlsFault(error) === undefined ? 'UNREACHABLE' : 'UNTRUSTED', reason };
  }
}

/** Whether any server answers at this address, for an agent that has no token or credential yet. */
export async function reachServer(
  address: string,
  dispatcher: Dispatcher,
): Promise<Extract<StatusAnswer, { reason: string }> | undefined> {
  try {
    const { body } = await request(livenessUrl(address), { dispatcher });
    await body.dump();
    return undefined;
  } catch (error) {
    const reason = connectionFault(error);
    return { kind: tlsFault(error) === undefined ? 'UNREACHABLE' : 'UNTRUSTED', reason };
  }
}
