/** One row for each agent that was ever enrolled. Hashes are SHA-256 in hexadecimal, times milliseconds since 1970. */
export const agentCredentials = `
  CREATE TABLE agent_credential (
    agent_id TEXT PRIMARY KEY,
    code_hash TEXT UNIQUE,
    code_expires_at INTEGER,
    code_spent_at INTEGER,
    credential_hash TEXT UNIQUE,
    enrolled_at INTEGER,
    revoked_at INTEGER,
    joined_at INTEGER
  ) STRICT;
`;
