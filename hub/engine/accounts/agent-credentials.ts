/** Identification of agents: by the join token that all may share, by a credential from a one-time code, or by the secret of an allocation. */
import type { Clock } from '@workbench-hub/shared/runtime/runtime';
import { isOpen } from '../../core/hosts/allocation.js';
import { isOwnAgentId, OWN_AGENT_ID } from '../../core/own-agent.js';
import type {
  AgentCredentialRecord,
  AgentCredentialStore,
  AgentSecrets,
} from '../../core/ports/agent-credentials.js';
import type { AllocationSecrets } from '../../core/ports/allocation-secrets.js';
import type { Allocations } from '../../core/ports/allocations.js';

/** Proof that the holder of a secret has given: knowledge of the join token, or the identity of one agent. */
export type AgentIdentity =
  | { readonly by: 'TOKEN' }
  /** The agent of the hub's own instances. */
  | { readonly by: 'OWN'; readonly agentId: string }
  /** The agent of an allocation. */
  | { readonly by: 'ALLOCATION'; readonly agentId: string }
  | { readonly by: 'CREDENTIAL'; readonly agentId: string; readonly credentialHash: string };

/** Reason of a refusal, for the hub's log. */
export interface Refusal {
  readonly refusal: string;
  /** Present or former owner of the refused secret, if known. */
  readonly agentId?: string;
}

export interface AgentCredentialsOptions {
  readonly store: AgentCredentialStore;
  readonly secrets: AgentSecrets;
  readonly clock: Clock;
  /** Null: agents join by their own credentials only. */
  readonly joinToken: string | null;
  /** Secret of the agent that holds the hub's own instances; null without such instances. */
  readonly ownSecret?: string | null;
  /** Id of that agent. */
  readonly ownAgentId?: string;
  /** Left out where no allocation joins. */
  readonly allocations?: {
    readonly secrets: AllocationSecrets;
    readonly store: Pick<Allocations, 'find' | 'version'>;
  };
}

export class AgentCredentials {
  readonly #store: AgentCredentialStore;
  readonly #secrets: AgentSecrets;
  readonly #clock: Clock;
  readonly #joinTokenHash: string | null;
  readonly #ownSecretHash: string | null;
  readonly #allocations: AgentCredentialsOptions['allocations'];
  /** Id of the agent that holds the hub's own instances. */
  readonly ownAgentId: string;

  constructor({
    store,
    secrets,
    clock,
    joinToken,
    ownSecret = null,
    ownAgentId = OWN_AGENT_ID,
    allocations,
  }: AgentCredentialsOptions) {
    this.#store = store;
    this.#allocations = allocations;
    this.#secrets = secrets;
    this.#clock = clock;
    this.#joinTokenHash = joinToken === null ? null : secrets.hashOf(joinToken);
    this.ownAgentId = ownAgentId;
    this.#ownSecretHash = ownSecret === null ? null : secrets.hashOf(ownSecret);
  }

  /** Creates a code with which this agent can fetch a credential, once, within `validMs`. The code cannot be read again. */
  async offer(agentId: string, validMs: number): Promise<{ code: string; expiresAtMs: number }> {
    const code = this.#secrets.newCode();
    const expiresAtMs = this.#clock.nowMs() + validMs;
    await this.#store.putCode(agentId, this.#secrets.hashOfCode(code), expiresAtMs);
    return { code, expiresAtMs };
  }

  /** Exchanges a code for a credential. A wrong code costs one lookup by hash. */
  async exchange(agentId: string, code: string): Promise<{ credential: string } | Refusal> {
    const codeHash = this.#secrets.hashOfCode(code);
    const nowMs = this.#clock.nowMs();
    const record = await this.#store.findByCode(codeHash);
    if (!record)
      return { refusal: 'there is no such code: it is mistyped, replaced by a later one, or revoked' };
    const refused = (refusal: string): Refusal => ({ refusal, agentId: record.agentId });
    if (record.agentId !== agentId) return refused(`the code is that of agent ${record.agentId}`);
    if (record.codeSpentAtMs !== null) return refused('the code was used before');
    if ((record.codeExpiresAtMs ?? 0) <= nowMs) return refused('the code has expired');
    const credential = this.#secrets.newCredential();
    const fetched = await this.#store.exchange(agentId, codeHash, this.#secrets.hashOf(credential), nowMs);
    return fetched ? { credential } : refused('the code was used at the same moment');
  }

  async identify(secret: string): Promise<AgentIdentity | Refusal> {
    const hash = this.#secrets.hashOf(secret);
    if (this.#joinTokenHash !== null && this.#secrets.areEqual(hash, this.#joinTokenHash))
      return { by: 'TOKEN' };
    if (this.#ownSecretHash !== null && this.#secrets.areEqual(hash, this.#ownSecretHash))
      return { by: 'OWN', agentId: this.ownAgentId };
    const allocationId = this.#allocations?.secrets.idOf(secret) ?? null;
    if (allocationId !== null) return this.#ofAllocation(allocationId);
    const record = await this.#store.findByCredential(hash);
    if (!record) {
      const refusal =
        this.#joinTokenHash === null
          ? 'what it presents is not the credential of an agent, and no token is accepted (agents.enrolledOnly)'
          : 'what it presents is neither agents.token of this hub nor the credential of an agent';
      return { refusal };
    }
    const { agentId } = record;
    if (record.revokedAtMs !== null)
      return { refusal: `the credential of agent ${agentId} is revoked`, agentId };
    return { by: 'CREDENTIAL', agentId, credentialHash: hash };
  }

  /** Reason why this identity may not use the id `agentId` now; undefined when it may. */
  async faultOf(identity: AgentIdentity, agentId: string): Promise<string | undefined> {
    if (isOwnAgentId(agentId) && identity.by !== 'OWN') {
      return `the id ${agentId} is reserved for the instances of the hub itself: choose another id`;
    }
    if (identity.by === 'CREDENTIAL' || identity.by === 'ALLOCATION') {
      if (identity.agentId === agentId) return this.endOf(identity);
      return `the credential of agent ${identity.agentId} is not valid for the id ${agentId}`;
    }
    if (identity.by === 'OWN') {
      const { agentId: own } = identity;
      return agentId === own ? undefined : `the hub's own agent has the id ${own} only`;
    }
    if ((await this.#faultOfAllocation(agentId)) === undefined)
      return `the id ${agentId} is that of an allocation, whose agent joins with a secret of its own: choose another id`;
    if (!needsCredential(await this.#store.find(agentId))) return undefined;
    return (
      `agent ${agentId} has been enrolled, so the token that all agents share is not enough for its id: ` +
      'remove token and tokenFile from its configuration'
    );
  }

  /** Reason why an accepted identity is no longer valid; undefined while it is. */
  async endOf(identity: AgentIdentity): Promise<string | undefined> {
    if (identity.by === 'ALLOCATION') return this.#faultOfAllocation(identity.agentId);
    if (identity.by !== 'CREDENTIAL') return undefined;
    const record = await this.#store.findByCredential(identity.credentialHash);
    if (!record) return `agent ${identity.agentId} has fetched a new credential`;
    if (record.revokedAtMs !== null) return `the credential of agent ${identity.agentId} is revoked`;
    return undefined;
  }

  /** Records the join. */
  async joined(identity: AgentIdentity): Promise<void> {
    if (identity.by === 'CREDENTIAL') await this.#store.joined(identity.agentId, this.#clock.nowMs());
  }

  /** Differs from its earlier values whenever an identity may have become invalid. */
  async version(): Promise<string> {
    const version = await this.#store.version();
    return this.#allocations ? `${version} ${await this.#allocations.store.version()}` : version;
  }

  async #ofAllocation(agentId: string): Promise<AgentIdentity | Refusal> {
    const refusal = await this.#faultOfAllocation(agentId);
    return refusal === undefined ? { by: 'ALLOCATION', agentId } : { refusal, agentId };
  }

  /** Reason why the agent of an allocation may not join; undefined while it may. */
  async #faultOfAllocation(id: string): Promise<string | undefined> {
    const allocation = await this.#allocations?.store.find(id);
    if (!allocation) return `there is no allocation ${id}`;
    return isOpen(allocation) ? undefined : `the allocation ${id} is over`;
  }

  /** False when there was nothing to revoke. */
  revoke(agentId: string): Promise<boolean> {
    return this.#store.revoke(agentId, this.#clock.nowMs());
  }

  /** Whether the agent has a credential, or an unused code for one. */
  async isEnrolled(agentId: string): Promise<boolean> {
    const record = await this.#store.find(agentId);
    if (!record) return false;
    const hasCredential = record.credentialHash !== null && record.revokedAtMs === null;
    return hasCredential || (record.codeHash !== null && record.codeSpentAtMs === null);
  }

  all(): Promise<AgentCredentialRecord[]> {
    return this.#store.all();
  }
}

/** An id that ever had its own credential can never be used with the join token again. */
function needsCredential(record: AgentCredentialRecord | undefined): boolean {
  return record !== undefined && (record.credentialHash !== null || record.revokedAtMs !== null);
}
