/** The log of changes in the order of its transactions, and how far it was removed. */
export const orderOfChanges = {
  id: '0014-order-of-changes',
  phase: 'expand',
  sql: `
  CREATE INDEX task_change_transaction ON task_change (transaction);

  -- Highest number of a transaction whose changes were removed.
  ALTER TABLE change_history ADD COLUMN removed BIGINT NOT NULL DEFAULT 0;
  CREATE FUNCTION note_removed_changes() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    UPDATE change_history SET removed = former.latest
    FROM (SELECT max(transaction) AS latest FROM old_changes) AS former WHERE former.latest > removed;
    RETURN NULL;
  END $$;
  CREATE TRIGGER task_change_removed AFTER DELETE ON task_change REFERENCING OLD TABLE AS old_changes
    FOR EACH STATEMENT EXECUTE FUNCTION note_removed_changes();
`,
} as const;
