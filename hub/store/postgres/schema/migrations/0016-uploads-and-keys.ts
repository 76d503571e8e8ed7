/** The hub that has the bytes of a resumable upload, and the task of a key, which is kept when the task is deleted. */
export const uploadsAndKeys = {
  id: '0016-uploads-and-keys',
  phase: 'expand',
  sql: `
  ALTER TABLE resumable_upload ADD COLUMN hub TEXT COLLATE "C";
  ALTER TABLE idempotency_key ADD COLUMN task_id TEXT COLLATE "C"; -- null for keys of earlier versions
`,
} as const;
