/** Kind of jobs that the program of an instance runs. */
export const kindsOfJobs = {
  id: '0017-kinds-of-jobs',
  phase: 'expand',
  sql: `
  ALTER TABLE agent_instance ADD COLUMN runs TEXT COLLATE "C"; -- JSON; null when it does not say
`,
} as const;
