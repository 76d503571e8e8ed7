import type { AgentCredentialRecord, AgentCredentialStore } from '../../../core/ports/agent-credentials.js';
import type { SqliteDatabase } from '../database.js';

interface Row {
  agent_id: string;
  code_hash: string | null;
  code_expires_at: number | null;
  code_spent_at: number | null;
  credential_hash: string | null;
  enrolled_at: number | null;
  revoked_at: number | null;
  joined_at: number | null;
}

export function sqliteAgentCredentials(db: SqliteDatabase): AgentCredentialStore {
  const putCode = db.prepare<[string, string, number]>(`
    INSERT INTO agent_credential (agent_id, code_hash, code_expires_at) VALUES (?, ?, ?)
    ON CONFLICT (agent_id) DO UPDATE SET code_hash = excluded.code_hash,
      code_expires_at = excluded.code_expires_at, code_spent_at = NULL`);
  const exchange = db.prepare<{ agentId: string; codeHash: string; credentialHash: string; atMs: number }>(`
    UPDATE agent_credential
    SET code_spent_at = :atMs, credential_hash = :credentialHash, enrolled_at = :atMs, revoked_at = NULL, joined_at = NULL
    WHERE agent_id = :agentId AND code_hash = :codeHash AND code_spent_at IS NULL AND code_expires_at > :atMs`);
  const revoke = db.prepare<{ agentId: string; atMs: number }>(`
    UPDATE agent_credential
    SET revoked_at = :atMs, code_hash = NULL, code_expires_at = NULL, code_spent_at = NULL
    WHERE agent_id = :agentId AND revoked_at IS NULL`);
  const revokeCode = db.prepare<{ agentId: string }>(`
    UPDATE agent_credential SET code_hash = NULL, code_expires_at = NULL, code_spent_at = NULL
    WHERE agent_id = :agentId AND revoked_at IS NOT NULL AND code_hash IS NOT NULL`);
  const joined = db.prepare<[number, string]>('UPDATE agent_credential SET joined_at = ? WHERE agent_id = ?');
  const find = db.prepare<[string], Row>('SELECT * FROM agent_credential WHERE agent_id = ?');
  const findByCode = db.prepare<[string], Row>('SELECT * FROM agent_credential WHERE code_hash = ?');
  const findByCredential = db.prepare<[string], Row>(
    'SELECT * FROM agent_credential WHERE credential_hash = ?',
  );
  const all = db.prepare<[], Row>('SELECT * FROM agent_credential ORDER BY agent_id');
  /** SQLite counts the changes of others only. */
  let ownChanges = 0;

  return {
    putCode: (agentId, codeHash, expiresAtMs) => {
      putCode.run(agentId, codeHash, expiresAtMs);
      ownChanges++;
    },
    exchange: (agentId, codeHash, credentialHash, atMs) => {
      const { changes } = exchange.run({ agentId, codeHash, credentialHash, atMs });
      ownChanges += changes;
      return changes === 1;
    },
    revoke: (agentId, atMs) => {
      const changes = revoke.run({ agentId, atMs }).changes + revokeCode.run({ agentId }).changes;
      ownChanges += changes;
      return changes > 0;
    },
    joined: (agentId, atMs) => void joined.run(atMs, agentId),
    find: (agentId) => recordOf(find.get(agentId)),
    findByCode: (codeHash) => recordOf(findByCode.get(codeHash)),
    findByCredential: (credentialHash) => recordOf(findByCredential.get(credentialHash)),
    all: () => all.all().map(toRecord),
    version: () => `${db.pragma('data_version', { simple: true })}.${ownChanges}`,
  };
}

function recordOf(row: Row | undefined): AgentCredentialRecord | undefined {
  return row && toRecord(row);
}

function toRecord(row: Row): AgentCredentialRecord {
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
