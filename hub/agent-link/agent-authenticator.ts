/** At the authenticator of everything beneath `/agent/`: is it an agent of this hub, and which? One authenticator for the WebSocket, the
 *  files and the enrolment. */
import type { IncomingMessage } from 'node:http';
import { TLSSocket } from 'node:tls';
import type { Logger } from '@workbench-hub/shared/runtime/logger';
import type { Clock } from '@workbench-hub/shared/runtime/runtime';
import type { AuditMeans, AuditTrail } from '../core/ports/audit.js';
import type { AgentCredentials, AgentIdentity } from '../engine/accounts/agent-credentials.js';
import { RefusalCount } from './refusal-count.js';

/** Of what comes from one address, so much is told at the level `warn`, the rest at `debug`. */
const LOGGED = { max: 100, withinMs: 5 * 60_000 };

export interface AgentAuthenticatorOptions {
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
  readonly action: 'AGENT_ENROLLED' | 'AGENT_JOIN' | 'AGENT_LEFT' | 'AGENT_REFUSED';
  readonly address: string | null;
  /** Who it is; null as long as it has not shown that. */
  readonly identity: AgentIdentity | null;
  readonly agentId: string | null;
  readonly resource: string;
  /** HTTP status of the answer, where there was one. */
  readonly status?: number;
  readonly detail?: string;
}

/** A request that is answered with an error. */
export interface AgentRefusal {
  readonly reason: string;
  /** Whom its secret belongs to. */
  readonly agentId?: string | undefined;
  readonly status?: number;
}

const REFUSED = 'an agent was refused';

const MEANS_OF: Readonly<Record<AgentIdentity['by'], AuditMeans>> = {
  TOKEN: 'AGENT_TOKEN',
  CREDENTIAL: 'AGENT_CREDENTIAL',
};

export class AgentAuthenticator {
  readonly #options: AgentAuthenticatorOptions;
  readonly #logged: RefusalCount;

  constructor(options: AgentAuthenticatorOptions) {
    this.#options = options;
    this.#logged = new RefusalCount(options.clock, LOGGED);
  }

  /** Identity behind a request; undefined when the response is 401, which has been logged. Rejects as the credential
   *  store does. */
  async admit(request: IncomingMessage): Promise<AgentIdentity | undefined> {
    if (!this.admitsConnection(request)) return undefined;
    const secret = /^Bearer +(\S+) *$/i.exec(request.headers.authorization ?? '')?.[1];
    const found =
      secret === undefined
        ? { refusal: 'it presents neither token nor credential' }
        : await this.#options.credentials.identify(secret);
    if ('by' in found) return found;
    this.refused(request, { reason: found.refusal, agentId: found.agentId });
    return undefined;
  }

  /** Whether the connection is one of an agent, whoever it is: it has shown a certificate where one is wanted. */
  admitsConnection(request: IncomingMessage): boolean {
    if (!this.#options.wantsCertificate) return true;
    const fault = certificateFault(request);
    if (fault !== undefined) this.refused(request, { reason: fault });
    return fault === undefined;
  }

  /** Tells both logs that a request was refused, with 401 unless it says otherwise. */
  refused(request: IncomingMessage, { reason, agentId, status = 401 }: AgentRefusal): void {
    const remoteAddress = this.addressOf(request);
    this.#warn({ remoteAddress, path: pathOf(request), ...(agentId ? { agentId } : {}), reason });
    this.record({
      action: 'AGENT_REFUSED',
      address: remoteAddress,
      identity: null,
      agentId: agentId ?? null,
      resource: pathOf(request),
      status,
      detail: reason,
    });
  }

  /** Tells the audit log. */
  record({ action, address, identity, agentId, resource, status, detail }: AgentEvent): void {
    this.#options.audit?.record({
      atMs: this.#options.clock.nowMs(),
      user: agentId,
      by: identity === null ? null : MEANS_OF[identity.by],
      address,
      action,
      resource,
      outcome: action === 'AGENT_REFUSED' ? 'REFUSED' : 'ALLOWED',
      status: status ?? null,
      detail: detail ?? null,
    });
  }

  #warn(fields: { readonly remoteAddress: string | null; readonly [name: string]: string | null }): void {
    const { log } = this.#options;
    if (this.#logged.waitS(fields.remoteAddress) > 0) {
      log.debug(fields, REFUSED);
      return;
    }
    this.#logged.add(fields.remoteAddress);
    log.warn(fields, REFUSED);
    if (this.#logged.waitS(fields.remoteAddress) === 0) return;
    log.warn(
      { remoteAddress: fields.remoteAddress },
      'more refusals of this address are logged at debug only',
    );
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
