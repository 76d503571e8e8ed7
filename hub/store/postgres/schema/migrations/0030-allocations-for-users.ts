/** Users for whose tasks allocations were wanted. */
export const allocationsForUsers = {
  id: '0030-allocations-for-users',
  phase: 'expand',
  sql: `
  ALTER TABLE allocation ADD COLUMN for_user TEXT COLLATE "C"; -- null without bounds by user
`,
} as const;
