/** Places in lists that are read a window at a time. */
import { invalidInput } from '../../core/errors.js';

/** The `seq` in a place after a window; for the newest, one above all. A place stays when the row before it is removed. */
export function placeOf(after: string | null): number {
  if (after === null) return Number.MAX_SAFE_INTEGER;
  if (/^\d{1,15}$/.test(after)) return Number(after);
  throw invalidInput([{ where: 'after', what: 'must be the "next" of an earlier response' }]);
}
