import type { Logger } from '@workbench-hub/shared/runtime/logger';
import type { AgentCredentialStore } from '../../../core/ports/agent-credentials.js';
import { type AgentCredentialRow, credentialOfRow } from '../../rows/agent-credential-row.js';
import type { SqliteDatabase } from '../connection/database.js';
import { translatedWith } from './translate-errors.js';

const UPSERT_CODE = `
  INSERT INTO agent_credential (agent_id, code_hash, code_expires_at) VALUES (?, ?, ?)
  ON CONFLICT (agent_id) DO UPDATE SET code_hash = excluded.code_hash,
    code_expires_at = excluded.code_expires_at, code_spent_at = NULL`;
const EXCHANGE = `
  UPDATE agent_credential
  SET code_spent_at = :atMs, credential_hash = :credentialHash, enrolled_at = :atMs, revoked_at = NULL, joined_at = NULL
  WHERE agent_id = :agentId AND code_hash = :codeHash AND code_spent_at IS NULL AND code_expires_at > :atMs`;
const REVOKE = `
  UPDATE agent_credential
  SET revoked_at = :atMs, code_hash = NULL, code_expires_at = NULL, code_spent_at = NULL
  WHERE agent_id = :agentId AND revoked_at IS NULL`;
const REVOKE_CODE = `
  UPDATE agent_credential SET code_hash = NULL, code_expires_at = NULL, code_spent_at = NULL
  WHERE agent_id = :agentId AND revoked_at IS NOT NULL AND code_hash IS NOT NULL`;

export function sqliteAgentCredentials(db: SqliteDatabase, log: Logger | null): AgentCredentialStore {
  const translated = translatedWith(log);
  const upsertCode = db.prepare<[string, string, number]>(UPSERT_CODE);
  const exchange = db.prepare<{ agentId: string; codeHash: string; credentialHash: string; atMs: number }>(
    EXCHANGE,
  );
  const revoke = db.prepare<{ agentId: string; atMs: number }>(REVOKE);
  const revokeCode = db.prepare<{ agentId: string }>(REVOKE_CODE);
  const joined = db.prepare<[number, string]>('UPDATE agent_credential SET joined_at = ? WHERE agent_id = ?');
  const find = db.prepare<[string], AgentCredentialRow>('SELECT * FROM agent_credential WHERE agent_id = ?');
  const findByCode = db.prepare<[string], AgentCredentialRow>(
    'SELECT * FROM agent_credential WHERE code_hash = ?',
  );
  const findByCredential = db.prepare<[string], AgentCredentialRow>(
    'SELECT * FROM agent_credential WHERE credential_hash = ?',
  );
  const all = db.prepare<[], AgentCredentialRow>('SELECT * FROM agent_credential ORDER BY agent_id');
  const found = (statement: typeof find, value: string) => {
    const row = statement.get(value);
    return row && credentialOfRow(row);
  };
  /** Counted here because SQLite's `data_version` covers the changes of other connections only. */
  let ownChanges = 0;

  return {
    putCode: (agentId, codeHash, expiresAtMs) =>
      translated(() => {
        upsertCode.run(agentId, codeHash, expiresAtMs);
        ownChanges++;
      }),
    exchange: (agentId, codeHash, credentialHash, atMs) =>
      translated(() => {
        const { changes } = exchange.run({ agentId, codeHash, credentialHash, atMs });
        ownChanges += changes;
        return changes === 1;
      }),
    revoke: (agentId, atMs) =>
      translated(() => {
        const changes = revoke.run({ agentId, atMs }).changes + revokeCode.run({ agentId }).changes;
        ownChanges += changes;
        return changes > 0;
      }),
    joined: (agentId, atMs) => translated(() => void joined.run(atMs, agentId)),
    find: (agentId) => translated(() => found(find, agentId)),
    findByCode: (codeHash) => translated(() => found(findByCode, codeHash)),
    findByCredential: (credentialHash) => translated(() => found(findByCredential, credentialHash)),
    all: () => translated(() => all.all().map(credentialOfRow)),
    version: () => translated(() => `${db.pragma('data_version', { simple: true })}.${ownChanges}`),
  };
}
