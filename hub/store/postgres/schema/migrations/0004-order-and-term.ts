/** The order of changes across lanes, and the term of the scheduler's role. */
export const orderAndTerm = {
  id: '0004-order-and-term',
  phase: 'expand',
  sql: `
  -- Number of the transaction that logged the changes: one that begins after another has committed has a higher one.
  ALTER TABLE task_change ADD COLUMN transaction BIGINT NOT NULL DEFAULT 0;

  -- One row: claims of another term take nothing.
  CREATE TABLE scheduler_term (
    only_row BOOLEAN PRIMARY KEY DEFAULT TRUE CHECK (only_row),
    term     BIGINT NOT NULL
  );
  INSERT INTO scheduler_term (term) VALUES (0);
`,
} as const;
