/** Identification of agents by token or credential, and by certificate; implemented by the agent link. */
import type { IncomingMessage } from 'node:http';
import type { AgentIdentity } from '../../../engine/accounts/agent-credentials.js';

export interface AgentGuard {
  /** Identity of the agent; undefined for a request to be refused with 401, which is then recorded. */
  admit(request: IncomingMessage): Promise<AgentIdentity | undefined>;
  /** Whether the connection shows a certificate where one is required; a refusal is recorded. */
  admitsConnection(request: IncomingMessage): boolean;
  /** Address of the agent's host; null when it is unknown. */
  addressOf(request: IncomingMessage): string | null;
  /** That address, or its network for IPv6: a machine has all the addresses of its network. */
  networkOf(request: IncomingMessage): string | null;
  /** Records a refusal in both logs. */
  refused(request: IncomingMessage, refusal: RefusedRequest): void;
  /** Records an enrollment in both logs. */
  enrolled(request: IncomingMessage, agentId: string): void;
}

export interface RefusedRequest {
  readonly reason: string;
  /** Owner of the secret that was shown. */
  readonly agentId?: string | undefined;
  readonly status: number;
}
