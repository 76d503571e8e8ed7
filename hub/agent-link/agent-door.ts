/** At the door of everything beneath `/agent/`: is it an agent of this hub, and which? One door for the WebSocket, the
 *  files and the enrolment. */
import type { IncomingMessage } from 'node:http';
import { TLSSocket } from 'node:tls';
import type { Logger } from '@workbench-hub/shared/runtime/logger';
import type { Clock } from '@workbench-hub/shared/runtime/runtime';
import type { AuditMeans, AuditTrail } from '../core/ports/audit.js';
import type { AgentCredentials, AgentIdentity } from '../engine/accounts/agent-credentials.js';

export interface AgentDoorOptions {
  readonly credentials: AgentCredentials;
  /** Whether agents have to show a certificate (server.tls.agentCa). */
  readonly wantsCertificate: boolean;
  /** From where a request comes; null when that is not known. */
  readonly addressOf: (request: IncomingMessage) => string | null;
  /** Null: nothing is recorded. */
  readonly audit: AuditTrail | null;
  readonly clock: Clock;
  readonly log: Logger;
}

/** What the audit log is told of an agent. */
export interface AgentEvent {
  readonly action: 'AGENT_ENROLLED' | 'AGENT_JOIN' | 'AGENT_REFUSED';
  readonly address: string | null;
  /** Who it is; null as long as it has not shown that. */
  readonly identity: AgentIdentity | null;
  readonly agentId: string | null;
  readonly resource: string;
  readonly detail?: string;
}

const MEANS_OF: Readonly<Record<AgentIdentity['by'], AuditMeans>> = {
  TOKEN: 'AGENT_TOKEN',
  CREDENTIAL: 'AGENT_CREDENTIAL',
};

export class AgentDoor {
  readonly #options: AgentDoorOptions;

  constructor(options: AgentDoorOptions) {
    this.#options = options;
  }

  /** Who asks; undefined when it is to be answered with 401, which the log tells by then. */
  admit(request: IncomingMessage): AgentIdentity | undefined {
    if (!this.admitsConnection(request)) return undefined;
    const secret = /^Bearer +(\S+) *$/i.exec(request.headers.authorization ?? '')?.[1];
    const found =
      secret === undefined
        ? { refusal: 'it presents neither token nor credential' }
        : this.#options.credentials.identify(secret);
    if ('by' in found) return found;
    this.refused(request, found.refusal, found.agentId);
    return undefined;
  }

  /** Whether the connection is one of an agent, whoever it is: it has shown a certificate where one is wanted. */
  admitsConnection(request: IncomingMessage): boolean {
    if (!this.#options.wantsCertificate) return true;
    const fault = certificateFault(request);
    if (fault !== undefined) this.refused(request, fault);
    return fault === undefined;
  }

  /** Says in the log that a request was answered with 401. `agentId` is whom its secret belongs to. */
  refused(request: IncomingMessage, reason: string, agentId?: string): void {
    this.#options.log.warn(
      {
        remoteAddress: this.addressOf(request),
        path: pathOf(request),
        ...(agentId ? { agentId } : {}),
        reason,
      },
      'an agent was refused',
    );
    this.record({
      action: 'AGENT_REFUSED',
      address: this.addressOf(request),
      identity: null,
      agentId: agentId ?? null,
      resource: pathOf(request),
      detail: reason,
    });
  }

  /** Tells the audit log. */
  record({ action, address, identity, agentId, resource, detail }: AgentEvent): void {
    const isRefusal = action === 'AGENT_REFUSED';
    this.#options.audit?.record({
      atMs: this.#options.clock.nowMs(),
      user: agentId,
      by: identity === null ? null : MEANS_OF[identity.by],
      address,
      action,
      resource,
      outcome: isRefusal ? 'REFUSED' : 'ALLOWED',
      status: isRefusal ? 401 : null,
      detail: detail ?? null,
    });
  }

  addressOf(request: IncomingMessage): string | null {
    return this.#options.addressOf(request);
  }
}

/** A client without a certificate that resumes its session counts as authorized for Node, so there must be one, too. */
function certificateFault({ socket }: IncomingMessage): string | undefined {
  if (!(socket instanceof TLSSocket)) return 'it shows no client certificate';
  const { raw } = socket.getPeerCertificate();
  if (raw === undefined) return 'it shows no client certificate (server.tls.agentCa wants one)';
  if (socket.authorized) return undefined;
  return `its client certificate is not accepted (${socket.authorizationError}): it must be signed by server.tls.agentCa`;
}

function pathOf({ url = '' }: IncomingMessage): string {
  return (url.split('?')[0] ?? '').slice(0, 200);
}
