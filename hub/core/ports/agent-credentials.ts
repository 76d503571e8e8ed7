/** Credentials of agents. Only hashes of codes and credentials are kept. */

/** Enrollment record of one agent id. */
export interface AgentCredentialRecord {
  readonly agentId: string;
  /** Latest code; null when it was revoked. */
  readonly codeHash: string | null;
  readonly codeExpiresAtMs: number | null;
  /** Time of the code's use; null while it is unused. */
  readonly codeSpentAtMs: number | null;
  /** Null before the first code is used. */
  readonly credentialHash: string | null;
  readonly enrolledAtMs: number | null;
  readonly revokedAtMs: number | null;
  /** Latest join with the credential. */
  readonly joinedAtMs: number | null;
}

/** Shared with the commands, which are processes of their own: every call reads the present state, and nothing is cached.
 *  Changes are durable when their promise resolves. All reject with HubError `STORE_UNAVAILABLE` or `STORAGE_FULL` when
 *  the store cannot be used, and then change nothing. */
export interface AgentCredentialStore {
  /** Replaces the agent's code; the credential stays. */
  putCode(agentId: string, codeHash: string, expiresAtMs: number): Promise<void>;
  /** Turns a code into a credential, provided that it is the agent's, unused and not expired at `atMs`: the code is spent
   *  and the former credential replaced. False, and nothing changed, otherwise. Of concurrent calls one succeeds. */
  exchange(agentId: string, codeHash: string, credentialHash: string, atMs: number): Promise<boolean>;
  /** Invalidates the credential and an unused code. False when there is neither. */
  revoke(agentId: string, atMs: number): Promise<boolean>;
  joined(agentId: string, atMs: number): Promise<void>;
  find(agentId: string): Promise<AgentCredentialRecord | undefined>;
  findByCode(codeHash: string): Promise<AgentCredentialRecord | undefined>;
  findByCredential(credentialHash: string): Promise<AgentCredentialRecord | undefined>;
  /** Ordered by id. */
  all(): Promise<AgentCredentialRecord[]>;
  /** Differs from its earlier values whenever a code or credential may have changed, in this process or another. */
  version(): Promise<string>;
}

/** Random secrets and one-way functions. */
export interface AgentSecrets {
  /** At least 128 bits in groups of letters and digits, to be read out and typed. */
  newCode(): string;
  /** 256 bits. */
  newCredential(): string;
  hashOf(secret: string): string;
  /** Hash of a code, whatever its case and with or without its dashes. */
  hashOfCode(code: string): string;
  /** Compares in constant time. */
  areEqual(hash: string, other: string): boolean;
}
