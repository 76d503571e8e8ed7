/** Recent logins. Names and addresses are kept as digests: a name may be a password that was typed in the wrong field. */
export const logins = {
  id: '0010-logins',
  phase: 'expand',
  sql: `
  -- Start times of failed or pending attempts, in ms since 1970.
  CREATE TABLE login_attempt (
    key_hash TEXT COLLATE "C" PRIMARY KEY,
    began    BIGINT[] NOT NULL
  );

  -- Locations from which users have logged in.
  CREATE TABLE login_location (
    username_hash TEXT COLLATE "C" NOT NULL,
    location_hash TEXT COLLATE "C" NOT NULL,
    logged_in_at  BIGINT NOT NULL,
    PRIMARY KEY (username_hash, location_hash)
  );
`,
} as const;
