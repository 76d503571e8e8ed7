import type { AgentCredentialRecord } from '../../core/ports/agent-credentials.js';

export interface AgentCredentialRow {
  readonly agent_id: string;
  readonly code_hash: string | null;
  readonly code_expires_at: number | null;
  readonly code_spent_at: number | null;
  readonly credential_hash: string | null;
  readonly enrolled_at: number | null;
  readonly revoked_at: number | null;
  readonly joined_at: number | null;
}

export function credentialOfRow(row: AgentCredentialRow): AgentCredentialRecord {
  return {
    agentId: row.agent_id,
    codeHash: row.code_hash,
    codeExpiresAtMs: row.code_expires_at,
    codeSpentAtMs: row.code_spent_at,
    credentialHash: row.credential_hash,
    enrolledAtMs: row.enrolled_at,
    revokedAtMs: row.revoked_at,
    joinedAtMs: row.joined_at,
  };
}
