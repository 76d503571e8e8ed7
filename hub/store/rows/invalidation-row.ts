import type { Invalidation } from '../../core/studies/reuse/invalidation.js';

export interface InvalidationRow {
  readonly id: string;
  /** JSON. */
  readonly results: string;
  readonly note: string | null;
  readonly creator: string | null;
  readonly created_at: number;
}

export const INVALIDATION_COLUMNS = 'id, results, note, creator, created_at';

export function invalidationOfRow({ id, results, note, creator, created_at }: InvalidationRow): Invalidation {
  return { id, of: JSON.parse(results), note, creator, atMs: created_at };
}

export function rowOfInvalidation({ id, of, note, creator, atMs }: Invalidation): InvalidationRow {
  return { id, results: JSON.stringify(of), note, creator, created_at: atMs };
}
