/** Statistics by which the server plans lists over buckets: tasks with successive numbers. */
export const listBuckets = {
  id: '0008-list-buckets',
  phase: 'expand',
  sql: `
  CREATE STATISTICS task_bucket ON (seq / 1024) FROM task;
  CREATE STATISTICS task_text_bucket ON (task_seq / 1024) FROM task_text;
`,
} as const;
