import { createHash } from 'node:crypto';
import { MAX_CACHED_CHARACTERS } from '../../rows/limits.js';
import type { Database } from '../connection/pool.js';
import { rowsOf, sql } from '../connection/statement.js';

/** Rows that are missing, in the order of the keys. No number is used up for a key that has one. */
const ADD = sql(
  { digests: 'text[]', keys: 'text[]' },
  `INSERT INTO requirement (digest, key)
   SELECT digest, key FROM unnest(:digests, :keys) WITH ORDINALITY AS asked (digest, key, at)
   WHERE NOT EXISTS (SELECT FROM requirement WHERE requirement.digest = asked.digest) ORDER BY at
   ON CONFLICT DO NOTHING`,
);
const FIND = sql({ digests: 'text[]' }, 'SELECT digest, id FROM requirement WHERE digest = ANY (:digests)');

export interface RequirementIds {
  /** Row ids of requirement keys, which are inserted if need be. Adding one more than once does no harm. */
  of(keys: readonly string[]): Promise<ReadonlyMap<string, number>>;
  /** Clears the cache, after rows were removed. */
  forget(): void;
}

export function requirementIds(db: Database): RequirementIds {
  const cached = new Map<string, number>();
  let cachedCharacters = 0;
  const forget = () => {
    cached.clear();
    cachedCharacters = 0;
  };

  async function learn(keys: readonly string[]): Promise<[key: string, id: number][]> {
    const keyOf = new Map(keys.map((key) => [digestOf(key), key]));
    const digests = [...keyOf.keys()];
    await rowsOf(db, ADD, { digests, keys: [...keyOf.values()] });
    const rows = await rowsOf<{ digest: string; id: number }, 'digests'>(db, FIND, { digests });
    return rows.map(({ digest, id }) => [keyOf.get(digest) ?? '', id]);
  }

  return {
    of: async (keys) => {
      const known = (key: string): [string, number][] => {
        const id = cached.get(key);
        return id === undefined ? [] : [[key, id]];
      };
      const found = new Map(keys.flatMap(known));
      const unknown = [...new Set(keys)].filter((key) => !found.has(key));
      for (const [key, id] of unknown.length === 0 ? [] : await learn(unknown)) {
        if (cachedCharacters + key.length > MAX_CACHED_CHARACTERS) forget();
        cached.set(key, id);
        cachedCharacters += key.length;
        found.set(key, id);
      }
      return found;
    },
    forget,
  };
}

function digestOf(key: string): string {
  return createHash('sha256').update(key).digest('hex');
}
