/** The hub that has the bytes of a resumable upload. */
export const hubsOfUploads = {
  id: '0014-hubs-of-uploads',
  phase: 'expand',
  sql: 'ALTER TABLE resumable_upload ADD COLUMN hub TEXT COLLATE "C";',
} as const;
