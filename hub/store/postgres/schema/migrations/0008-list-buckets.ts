/** Lists over buckets, tasks with successive numbers: statistics by which the server plans them, and type and priority beside the texts. */
export const listBuckets = {
  id: '0008-list-buckets',
  phase: 'expand',
  sql: `
  ALTER TABLE task_text ADD COLUMN lasting_kind SMALLINT; -- kind of the task while it waits
  UPDATE task_text SET lasting_kind = task.kind - 8 * ((task.kind / 8) % 8) FROM task WHERE task.seq = task_text.task_seq;
  CREATE STATISTICS task_bucket ON (seq / 1024) FROM task;
  CREATE STATISTICS task_text_bucket ON (task_seq / 1024) FROM task_text;
`,
} as const;
