/** Authenticator of all requests beneath `/agent/`: the WebSocket, the transfers and the enrollment. */
import type { IncomingMessage } from 'node:http';
import { TLSSocket } from 'node:tls';
import { AGENT_PATHS } from '@workbench-hub/shared/agent-protocol/messages';
import type { Logger } from '@workbench-hub/shared/runtime/logger';
import type { Clock } from '@workbench-hub/shared/runtime/runtime';
import type { AuditMeans, AuditTrail } from '../core/ports/audit.js';
import type { AgentCredentials, AgentIdentity } from '../engine/accounts/agent-credentials.js';
import { RefusalCount } from '../engine/accounts/refusal-count.js';

/** Refusals of one address that are logged as `warn`; further ones are logged as `debug`. */
const LOGGED = { max: 100, withinMs: 5 * 60_000 };

export interface AgentAuthenticatorOptions {
  readonly credentials: AgentCredentials;
  /** Whether agents have to show a certificate (server.tls.agentCa). */
  readonly wantsCertificate: boolean;
  /** Admits the agent of the hub's own instances only. */
  readonly ownOnly?: boolean;
  /** Address of the sender; null when it is unknown. */
  readonly addressOf: (request: IncomingMessage) => string | null;
  /** Address of the sender, or its network for IPv6: refusals are counted by it. */
  readonly networkOf: (request: IncomingMessage) => string | null;
  /** Null: nothing is recorded. */
  readonly audit: AuditTrail | null;
  readonly clock: Clock;
  readonly log: Logger;
}

/** Event for the audit log. */
export interface AgentEvent {
  readonly action: 'AGENT_ENROLLED' | 'AGENT_JOIN' | 'AGENT_LEFT' | 'AGENT_REFUSED';
  readonly address: string | null;
  /** Null for an agent that is not identified. */
  readonly identity: AgentIdentity | null;
  readonly agentId: string | null;
  readonly resource: string;
  /** HTTP status of the response, where there was one. */
  readonly status?: number;
  readonly detail?: string;
}

/** A request that is refused. */
export interface AgentRefusal {
  readonly reason: string;
  /** Owner of the secret that was shown. */
  readonly agentId?: string | undefined;
  readonly status?: number;
}

const REFUSED = 'an agent was refused';

const MEANS_OF: Readonly<Record<AgentIdentity['by'], AuditMeans>> = {
  TOKEN: 'AGENT_TOKEN',
  CREDENTIAL: 'AGENT_CREDENTIAL',
  OWN: 'AGENT_CREDENTIAL',
  ALLOCATION: 'AGENT_CREDENTIAL',
};

export class AgentAuthenticator {
  readonly #options: AgentAuthenticatorOptions;
  readonly #logged: RefusalCount;

  constructor(options: AgentAuthenticatorOptions) {
    this.#options = options;
    this.#logged = new RefusalCount(options.clock, LOGGED);
  }

  /** Identity of the agent; undefined for a request to be refused with 401, which is then recorded. Rejects as the
   *  credential store does. */
  async admit(request: IncomingMessage): Promise<AgentIdentity | undefined> {
    if (!this.admitsConnection(request)) return undefined;
    const secret = /^Bearer +(\S+) *$/i.exec(request.headers.authorization ?? '')?.[1];
    const found =
      secret === undefined
        ? { refusal: 'it presents neither token nor credential' }
        : await this.#options.credentials.identify(secret);
    if ('refusal' in found) this.refused(request, { reason: found.refusal, agentId: found.agentId });
    else if (this.#options.ownOnly && found.by !== 'OWN')
      this.refused(request, { reason: "this address is for the hub's own instances only" });
    else return found;
    return undefined;
  }

  /** Whether the connection shows a certificate where one is required; a refusal is recorded. */
  admitsConnection(request: IncomingMessage): boolean {
    if (!this.#options.wantsCertificate) return true;
    const reason = certificateRefusal(request);
    if (reason !== undefined) this.refused(request, { reason });
    return reason === undefined;
  }

  /** Records in both logs that a request was refused, with 401 by default. */
  refused(request: IncomingMessage, { reason, agentId, status = 401 }: AgentRefusal): void {
    const remoteAddress = this.addressOf(request);
    const fields = { remoteAddress, path: pathOf(request), ...(agentId ? { agentId } : {}), reason };
    this.#warn(fields, this.networkOf(request));
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

  /** Records an enrollment in both logs. */
  enrolled(request: IncomingMessage, agentId: string): void {
    const address = this.addressOf(request);
    const message = 'an agent was enrolled: it has a new credential';
    this.#options.log.info({ agentId, remoteAddress: address }, message);
    const resource = AGENT_PATHS.ENROLL;
    this.record({ action: 'AGENT_ENROLLED', address, identity: null, agentId, resource, status: 200 });
  }

  /** Records an event in the audit log. */
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

  #warn(fields: Readonly<Record<string, string | null>>, network: string | null): void {
    const { log } = this.#options;
    if (this.#logged.waitS(network) > 0) {
      log.debug(fields, REFUSED);
      return;
    }
    this.#logged.add(network);
    log.warn(fields, REFUSED);
    if (this.#logged.waitS(network) === 0) return;
    log.warn(
      { remoteAddress: fields['remoteAddress'] },
      'more refusals of this address are logged at debug only',
    );
  }

  addressOf(request: IncomingMessage): string | null {
    return this.#options.addressOf(request);
  }

  networkOf(request: IncomingMessage): string | null {
    return this.#options.networkOf(request);
  }
}

/** Reason to refuse a connection. To Node, a client without a certificate that resumes its session is authorized: so there must
 *  be a certificate, too. */
function certificateRefusal({ socket }: IncomingMessage): string | undefined {
  if (!(socket instanceof TLSSocket)) return 'it shows no client certificate';
  const { raw } = socket.getPeerCertificate();
  if (raw === undefined) return 'it shows no client certificate (server.tls.agentCa wants one)';
  if (socket.authorized) return undefined;
  return `its client certificate is not accepted (${socket.authorizationError}): it must be signed by server.tls.agentCa`;
}

function pathOf({ url = '' }: IncomingMessage): string {
  return (url.split('?')[0] ?? '').slice(0, 200);
}
