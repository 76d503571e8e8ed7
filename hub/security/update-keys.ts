import { join } from 'node:path';
import { keyLines } from './key-lines.js';

export const UPDATE_KEYS_FILE = 'update-keys';

/** Keys that sign orders to update agents, which these pin when they are enrolled: the lines of `<dataDir>/update-keys`, as {@link
 *  keyLines}. */
export function updateKeys(dataDir: string): Promise<Buffer[]> {
  return keyLines(join(dataDir, UPDATE_KEYS_FILE), {
    abuse: 'have agents run other programs',
    consequence: 'which no agent obeys before it is enrolled again',
  });
}
