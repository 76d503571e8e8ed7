/** Users, sessions, tokens, and agents with their credentials and drains. Times are milliseconds since 1970. Texts are compared
 *  by their bytes, as every store orders them. */
export const accounts = {
  id: '0100-accounts',
  phase: 'expand',
  sql: `
    CREATE TABLE hub_user (
      username      TEXT COLLATE "C" PRIMARY KEY,
      password_hash TEXT COLLATE "C" NOT NULL,
      roles         TEXT NOT NULL,
      disabled      BOOLEAN NOT NULL DEFAULT FALSE,
      source        TEXT NOT NULL,
      created_at    BIGINT NOT NULL
    );

    -- A session that has ended is removed. The hashes are null for a session that cannot be refreshed. The spent token is the
    -- one that was exchanged last; the salt turned it into the current one.
    CREATE TABLE session (
      id           TEXT COLLATE "C" PRIMARY KEY,
      username     TEXT COLLATE "C" NOT NULL REFERENCES hub_user (username) ON DELETE CASCADE,
      started_at   BIGINT NOT NULL,
      expires_at   BIGINT NOT NULL,
      family_hash  TEXT COLLATE "C" UNIQUE,
      current_hash TEXT COLLATE "C",
      spent_hash   TEXT COLLATE "C",
      spent_at     BIGINT,
      turn_salt    TEXT
    );
    CREATE INDEX session_of_user ON session (username, started_at, id);
    CREATE INDEX session_expiry ON session (expires_at);

    CREATE TABLE personal_token (
      id           TEXT COLLATE "C" PRIMARY KEY,
      hash         TEXT COLLATE "C" NOT NULL UNIQUE,
      username     TEXT COLLATE "C" NOT NULL REFERENCES hub_user (username) ON DELETE CASCADE,
      name         TEXT NOT NULL,
      role         TEXT NOT NULL,
      created_at   BIGINT NOT NULL,
      expires_at   BIGINT NOT NULL,
      last_used_at BIGINT
    );
    CREATE INDEX personal_token_of_user ON personal_token (username, created_at, id);
    CREATE INDEX personal_token_expiry ON personal_token (expires_at);

    -- One row for each agent that was ever enrolled.
    CREATE TABLE agent_credential (
      agent_id        TEXT COLLATE "C" PRIMARY KEY,
      code_hash       TEXT COLLATE "C" UNIQUE,
      code_expires_at BIGINT,
      code_spent_at   BIGINT,
      credential_hash TEXT COLLATE "C" UNIQUE,
      enrolled_at     BIGINT,
      revoked_at      BIGINT,
      joined_at       BIGINT
    );

    -- Counts the changes of codes and credentials.
    CREATE TABLE agent_credential_version (
      only_row BOOLEAN PRIMARY KEY DEFAULT TRUE CHECK (only_row),
      version  BIGINT NOT NULL
    );
    INSERT INTO agent_credential_version (version) VALUES (0);

    CREATE TABLE agent_drain (
      agent_id   TEXT COLLATE "C" PRIMARY KEY,
      since      BIGINT NOT NULL,
      drained_by TEXT NOT NULL
    );`,
} as const;
