/** Removes the folded copy of names: lists compare and fold names in memory. */
export const nameOnce = 'ALTER TABLE task DROP COLUMN name_folded;';
