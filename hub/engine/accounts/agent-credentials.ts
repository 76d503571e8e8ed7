/** Who an agent is: the join token that all may share, or a credential that it got for a one-time code. */
import type { Clock } from '@workbench-hub/shared/runtime/runtime';
import type {
  AgentCredentialRecord,
  AgentCredentialStore,
  AgentSecrets,
} from '../../core/ports/agent-credentials.js';

/** What somebody at the agent link has proven: to know the token that all share, or to be this agent. */
export type AgentIdentity =
  | { readonly by: 'TOKEN' }
  | { readonly by: 'CREDENTIAL'; readonly agentId: string; readonly credentialHash: string };

/** Why somebody is not let in, for the log of the hub. */
export interface Refusal {
  readonly refusal: string;
  /** Whom the refused secret belongs or belonged to, if anybody. */
  readonly agentId?: string;
}

export interface AgentCredentialsOptions {
  readonly store: AgentCredentialStore;
  readonly secrets: AgentSecrets;
  readonly clock: Clock;
  /** Null: agents join by credentials of their own only. */
  readonly joinToken: string | null;
}

export class AgentCredentials {
  readonly #store: AgentCredentialStore;
  readonly #secrets: AgentSecrets;
  readonly #clock: Clock;
  readonly #joinTokenHash: string | null;

  constructor({ store, secrets, clock, joinToken }: AgentCredentialsOptions) {
    this.#store = store;
    this.#secrets = secrets;
    this.#clock = clock;
    this.#joinTokenHash = joinToken === null ? null : secrets.hashOf(joinToken);
  }

  /** Makes the code by which this agent can fetch a credential, once, within `validMs`. It is shown nowhere else. */
  offer(agentId: string, validMs: number): { code: string; expiresAtMs: number } {
    const code = this.#secrets.newCode();
    const expiresAtMs = this.#clock.nowMs() + validMs;
    this.#store.putCode(agentId, this.#secrets.hashOfCode(code), expiresAtMs);
    return { code, expiresAtMs };
  }

  /** Gives a credential for a code. One look-up by hash is all that a wrong code costs. */
  exchange(agentId: string, code: string): { credential: string } | Refusal {
    const codeHash = this.#secrets.hashOfCode(code);
    const nowMs = this.#clock.nowMs();
    const record = this.#store.findByCode(codeHash);
    if (!record)
      return { refusal: 'there is no such code: it is mistyped, replaced by a later one, or revoked' };
    const refused = (refusal: string): Refusal => ({ refusal, agentId: record.agentId });
    if (record.agentId !== agentId) return refused(`the code is that of agent ${record.agentId}`);
    if (record.codeSpentAtMs !== null) return refused('the code was used before');
    if ((record.codeExpiresAtMs ?? 0) <= nowMs) return refused('the code has expired');
    const credential = this.#secrets.newCredential();
    const fetched = this.#store.exchange(agentId, codeHash, this.#secrets.hashOf(credential), nowMs);
    return fetched ? { credential } : refused('the code was used at the same moment');
  }

  /** Who presents this secret. */
  identify(secret: string): AgentIdentity | Refusal {
    const hash = this.#secrets.hashOf(secret);
    if (this.#joinTokenHash !== null && this.#secrets.areEqual(hash, this.#joinTokenHash))
      return { by: 'TOKEN' };
    const record = this.#store.findByCredential(hash);
    if (!record) {
      const or = this.#joinTokenHash === null ? 'is not' : 'is neither agents.token of this hub nor';
      return { refusal: `what it presents ${or} the credential of an agent` };
    }
    const { agentId } = record;
    if (record.revokedAtMs !== null)
      return { refusal: `the credential of agent ${agentId} is revoked`, agentId };
    return { by: 'CREDENTIAL', agentId, credentialHash: hash };
  }

  /** Why an agent that calls itself `agentId` is not believed; undefined when it is. */
  faultOf(identity: AgentIdentity, agentId: string): string | undefined {
    if (identity.by === 'CREDENTIAL') {
      if (identity.agentId === agentId) return this.endOf(identity);
      return `the credential of agent ${identity.agentId} is not good for the id ${agentId}`;
    }
    if (!needsCredential(this.#store.find(agentId))) return undefined;
    return (
      `agent ${agentId} has been enrolled, so the token that all agents share is not enough for its id: ` +
      'remove token and tokenFile from its configuration'
    );
  }

  /** Why an identity that was good is so no more; undefined while it is. */
  endOf(identity: AgentIdentity): string | undefined {
    if (identity.by === 'TOKEN') return undefined;
    const record = this.#store.findByCredential(identity.credentialHash);
    if (!record) return `agent ${identity.agentId} has fetched a new credential`;
    if (record.revokedAtMs !== null) return `the credential of agent ${identity.agentId} is revoked`;
    return undefined;
  }

  joined(identity: AgentIdentity): void {
    if (identity.by === 'CREDENTIAL') this.#store.joined(identity.agentId, this.#clock.nowMs());
  }

  /** Another text whenever identities may have come to an end. */
  version(): string {
    return this.#store.version();
  }

  /** False when there was nothing to revoke. */
  revoke(agentId: string): boolean {
    return this.#store.revoke(agentId, this.#clock.nowMs());
  }

  all(): AgentCredentialRecord[] {
    return this.#store.all();
  }
}

/** An id that had a credential of its own is never again anybody's who knows the token that all share. */
function needsCredential(record: AgentCredentialRecord | undefined): boolean {
  return record !== undefined && (record.credentialHash !== null || record.revokedAtMs !== null);
}
