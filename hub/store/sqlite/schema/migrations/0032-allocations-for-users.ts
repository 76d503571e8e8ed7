/** Users for whose tasks allocations were wanted; null without bounds by user. */
export const allocationsForUsers = 'ALTER TABLE allocation ADD COLUMN for_user TEXT;';
