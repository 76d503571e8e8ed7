/** Address that a study names, the number of its changes that were told, and the study in deliveries. */
export const webhooksOfStudies = {
  id: '0025-webhooks-of-studies',
  phase: 'expand',
  sql: `
  ALTER TABLE study ADD COLUMN notify_url TEXT COLLATE "C";
  ALTER TABLE study ADD COLUMN notify_receiver TEXT COLLATE "C";
  ALTER TABLE study ADD COLUMN told_count BIGINT NOT NULL DEFAULT 0;
  -- The study as it was after a change; its delivery has no task, and in place of its id that of the study with told_count.
  ALTER TABLE webhook_delivery ADD COLUMN study JSON;
`,
} as const;
