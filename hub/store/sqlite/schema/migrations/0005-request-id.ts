/** Id of the request that created a task, to follow it in the logs. */
export const requestId = 'ALTER TABLE task ADD COLUMN request_id TEXT;';
