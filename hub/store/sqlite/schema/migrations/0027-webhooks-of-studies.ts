/** Address that a study names, the number of its changes that were told, and the study in deliveries. */
export const webhooksOfStudies = `
  ALTER TABLE study ADD COLUMN notify_url TEXT;
  ALTER TABLE study ADD COLUMN notify_receiver TEXT;
  ALTER TABLE study ADD COLUMN told_count INTEGER NOT NULL DEFAULT 0;
  -- JSON of a study as it was after a change; its delivery has no task, and in place of its id that of the study with told_count.
  ALTER TABLE webhook_delivery ADD COLUMN study TEXT;
`;
