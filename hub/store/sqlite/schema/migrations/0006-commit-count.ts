/** Count of transactions with a durable operation; see commit-watermark.ts. */
export const commitCount = `
  CREATE TABLE commit_count (
    id      INTEGER PRIMARY KEY CHECK (id = 0),
    commits INTEGER NOT NULL
  ) STRICT;
  INSERT INTO commit_count VALUES (0, 0);
`;
