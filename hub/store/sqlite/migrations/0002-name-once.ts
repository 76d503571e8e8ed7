/** Lists compare names in memory, where they fold them too: the folded copy beside each name is not needed any more. */
export const nameOnce = 'ALTER TABLE task DROP COLUMN name_folded;';
