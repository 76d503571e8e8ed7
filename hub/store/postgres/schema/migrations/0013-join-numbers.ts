/** The number that an agent gave its latest join. */
export const joinNumbers = {
  id: '0013-join-numbers',
  phase: 'expand',
  sql: 'ALTER TABLE agent ADD COLUMN join_number BIGINT;',
} as const;
