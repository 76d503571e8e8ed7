/** Hashes are SHA-256 in base64url, times milliseconds since 1970. */
export const personalTokens = `
  CREATE TABLE personal_token (
    id           TEXT PRIMARY KEY,
    hash         TEXT NOT NULL UNIQUE,
    username     TEXT NOT NULL REFERENCES user (username) ON DELETE CASCADE,
    name         TEXT NOT NULL,
    role         TEXT NOT NULL,
    created_at   INTEGER NOT NULL,
    expires_at   INTEGER NOT NULL,
    last_used_at INTEGER
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX personal_token_of_user ON personal_token (username, created_at);
  CREATE INDEX personal_token_expiry ON personal_token (expires_at);
`;
