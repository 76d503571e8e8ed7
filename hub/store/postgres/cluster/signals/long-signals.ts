import type { Database } from '../../connection/pool.js';
import { statement } from '../../connection/pool.js';

/** Parameters: incarnation and numbers. */
export const LONG_SIGNALS = statement(
  'SELECT number, signals FROM signal_text WHERE incarnation = $1 AND number = ANY ($2::bigint[])',
);

/** Reads the texts of signals that were too long for a notification, by their numbers. They are stored as they are: JSON has no NUL. */
export function longSignals(
  database: Database,
): (incarnation: string, numbers: readonly number[]) => Promise<ReadonlyMap<number, string>> {
  return async (incarnation, numbers) => {
    const rows = await database.rows<{ number: number; signals: string }>(LONG_SIGNALS, [
      incarnation,
      numbers,
    ]);
    return new Map(rows.map(({ number, signals }) => [number, signals]));
  };
}
