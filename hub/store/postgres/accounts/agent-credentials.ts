import type { AgentCredentialStore } from '../../../core/ports/agent-credentials.js';
import { type AgentCredentialRow, credentialOfRow } from '../../rows/agent-credential-row.js';
import { type Database, type Statement, statement } from '../connection/pool.js';
import type { AccountWork } from './account-work.js';

const COLUMNS =
  'agent_id, code_hash, code_expires_at, code_spent_at, credential_hash, enrolled_at, revoked_at, joined_at';
const UPSERT_CODE = counted(`
  INSERT INTO agent_credential (agent_id, code_hash, code_expires_at) VALUES ($1, $2, $3)
  ON CONFLICT (agent_id) DO UPDATE SET code_hash = excluded.code_hash,
    code_expires_at = excluded.code_expires_at, code_spent_at = NULL`);
const EXCHANGE = counted(`
  UPDATE agent_credential
  SET code_spent_at = $4, credential_hash = $3, enrolled_at = $4, revoked_at = NULL, joined_at = NULL
  WHERE agent_id = $1 AND code_hash = $2 AND code_spent_at IS NULL AND code_expires_at > $4`);
const REVOKE = counted(`
  UPDATE agent_credential
  SET revoked_at = coalesce(revoked_at, $2), code_hash = NULL, code_expires_at = NULL, code_spent_at = NULL
  WHERE agent_id = $1 AND (revoked_at IS NULL OR code_hash IS NOT NULL)`);
const JOINED = statement('UPDATE agent_credential SET joined_at = $2 WHERE agent_id = $1');
const FIND = statement(`SELECT ${COLUMNS} FROM agent_credential WHERE agent_id = $1`);
const FIND_BY_CODE = statement(`SELECT ${COLUMNS} FROM agent_credential WHERE code_hash = $1`);
const FIND_BY_CREDENTIAL = statement(`SELECT ${COLUMNS} FROM agent_credential WHERE credential_hash = $1`);
const ALL = statement(`SELECT ${COLUMNS} FROM agent_credential ORDER BY agent_id`);
const VERSION = statement('SELECT version FROM agent_credential_version');

/** A write that counts in the version when it changes a row, and returns a row for each that it changed. */
function counted(write: string): Statement {
  return statement(`
    WITH changed AS (${write} RETURNING agent_id),
      counted AS (UPDATE agent_credential_version SET version = version + 1 WHERE EXISTS (SELECT FROM changed))
    SELECT agent_id FROM changed`);
}

export function postgresAgentCredentials(database: Database, work: AccountWork): AgentCredentialStore {
  const findBy = (found: Statement, value: string) =>
    work.read(async () => {
      const [row] = await database.rows<AgentCredentialRow>(found, [value]);
      return row && credentialOfRow(row);
    });
  return {
    putCode: async (agentId, codeHash, expiresAtMs) =>
      void (await work.change(database, UPSERT_CODE, [agentId, codeHash, expiresAtMs])),
    exchange: (agentId, codeHash, credentialHash, atMs) =>
      work.write(async (isRepeat) => {
        const exchanged = await database.rows(EXCHANGE, [agentId, codeHash, credentialHash, atMs]);
        if (exchanged.length > 0 || !isRepeat) return exchanged.length > 0;
        const [found] = await database.rows<AgentCredentialRow>(FIND_BY_CREDENTIAL, [credentialHash]);
        return found?.agent_id === agentId;
      }),
    revoke: (agentId, atMs) => work.change(database, REVOKE, [agentId, atMs]),
    joined: (agentId, atMs) => work.write(async () => void (await database.changed(JOINED, [agentId, atMs]))),
    find: (agentId) => findBy(FIND, agentId),
    findByCode: (codeHash) => findBy(FIND_BY_CODE, codeHash),
    findByCredential: (credentialHash) => findBy(FIND_BY_CREDENTIAL, credentialHash),
    all: () => work.read(async () => (await database.rows<AgentCredentialRow>(ALL)).map(credentialOfRow)),
    version: () =>
      work.read(async () => {
        const [row] = await database.rows<{ version: number }>(VERSION);
        return `${row?.version}`;
      }),
  };
}
