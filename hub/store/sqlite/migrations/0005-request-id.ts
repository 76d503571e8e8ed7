/** Names the request that created a task, so that its way can be found in the logs. */
export const requestId = 'ALTER TABLE task ADD COLUMN request_id TEXT;';
