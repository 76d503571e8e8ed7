/** The credentials of agents. Of codes and credentials the hub keeps hashes only. */

/** What is kept of an agent that was ever enrolled: one record, and no more than that, for each id. */
export interface AgentCredentialRecord {
  readonly agentId: string;
  /** The code that was made last, and until when it is good; `codeSpentAtMs` tells that it was used. */
  readonly codeHash: string | null;
  readonly codeExpiresAtMs: number | null;
  readonly codeSpentAtMs: number | null;
  /** None before the first code is used. */
  readonly credentialHash: string | null;
  readonly enrolledAtMs: number | null;
  readonly revokedAtMs: number | null;
  /** When the agent joined last with its credential. */
  readonly joinedAtMs: number | null;
}

/** Durable; several processes may work on it at once. All are short look-ups by a key, so nothing is awaited. */
export interface AgentCredentialStore {
  /** Keeps a new code of this agent. The one before it is worth nothing any more; the credential stays as it is. */
  putCode(agentId: string, codeHash: string, expiresAtMs: number): void;
  /** Turns a code into a credential, if it is the agent's, unused, and good at `atMs`: the code is spent, the former
   *  credential replaced. False when it is not, and nothing is changed. Of two who try at once one succeeds. */
  exchange(agentId: string, codeHash: string, credentialHash: string, atMs: number): boolean;
  /** The credential counts no more, nor does a code that is still open. False when there is neither. */
  revoke(agentId: string, atMs: number): boolean;
  joined(agentId: string, atMs: number): void;
  find(agentId: string): AgentCredentialRecord | undefined;
  findByCode(codeHash: string): AgentCredentialRecord | undefined;
  findByCredential(credentialHash: string): AgentCredentialRecord | undefined;
  /** By id. */
  all(): AgentCredentialRecord[];
  /** Another text whenever codes or credentials may have changed, by this process or another. */
  version(): string;
}

/** Chance that cannot be guessed, and one-way functions. */
export interface AgentSecrets {
  /** At least 128 bits in groups of letters and digits, to be read out and typed. */
  newCode(): string;
  /** 256 bits. */
  newCredential(): string;
  /** Of a secret. A code has the same hash however it is typed: in small letters, or without its dashes. */
  hashOf(secret: string): string;
  hashOfCode(code: string): string;
  /** Compares in a time that says nothing about where the hashes differ. */
  areEqual(hash: string, other: string): boolean;
}
