/** Each session keeps what its refresh tokens need in its own row. A session of before goes on with the token that it had
 *  not spent, and gets its family when that is refreshed (see engine/accounts/refresh-tokens.ts). */
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
