/** The state of refresh tokens in the row of their session. An older session continues with its unspent token, and gets its
 *  family at the next refresh (see engine/accounts/refresh-tokens.ts). */
export const refreshTokenFamilies = `
  -- Null for a session that cannot be refreshed.
  ALTER TABLE session ADD COLUMN family_hash TEXT;
  ALTER TABLE session ADD COLUMN current_hash TEXT;
  -- The token that was spent last, when, and the salt that turned it into the current one.
  ALTER TABLE session ADD COLUMN spent_hash TEXT;
  ALTER TABLE session ADD COLUMN spent_at INTEGER;
  ALTER TABLE session ADD COLUMN turn_salt TEXT;

  UPDATE session SET family_hash = token.hash, current_hash = token.hash
  FROM (SELECT hash, session_id FROM refresh_token WHERE spent = 0) AS token
  WHERE token.session_id = session.id;

  DROP TABLE refresh_token;
  CREATE UNIQUE INDEX session_family ON session (family_hash);
`;
