/** The order of changes across lanes. */
export const orderOfChanges = {
  id: '0004-order-of-changes',
  phase: 'expand',
  sql: `
  -- Number of the transaction that logged the changes: one that begins after another has committed has a higher one.
  ALTER TABLE task_change ADD COLUMN transaction BIGINT NOT NULL DEFAULT 0;
`,
} as const;
