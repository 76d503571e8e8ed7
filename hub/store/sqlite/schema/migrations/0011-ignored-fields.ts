/** Fields of the request that the hub did not know, for the messages of the task. */
export const ignoredFields = 'ALTER TABLE task ADD COLUMN ignored_fields TEXT;';
