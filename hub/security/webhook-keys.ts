import { join } from 'node:path';
import { keyLines } from './key-lines.js';

export const WEBHOOK_KEYS_FILE = 'webhook-keys';

/** Keys from which the secrets of receivers of webhooks are derived: the lines of `<dataDir>/webhook-keys`, as {@link keyLines}. */
export function webhookKeys(dataDir: string): Promise<Buffer[]> {
  return keyLines(join(dataDir, WEBHOOK_KEYS_FILE), {
    abuse: 'sign webhooks',
    consequence: 'with which receivers need new secrets',
  });
}
