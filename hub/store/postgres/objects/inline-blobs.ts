import type { BlobForm, DroppedBlob, InlineBlobs, UnusedBlob } from '../../../core/ports/blobs.js';
import { RECENT_MS, SWEEP_BATCH } from '../../rows/limits.js';
import type { Database } from '../connection/pool.js';
import { rowOf, rowsOf, sql } from '../connection/statement.js';
import { type LaneWrite, laneStatement } from '../lanes/lane-statements.js';
import type { Lanes } from '../lanes/lanes.js';
import { anotherTime, isReferenced } from './blob-references.js';

/** Recent blobs that are remembered. */
const MAX_RECENT = 10_000;

interface NewBlob {
  readonly digest: string;
  readonly blob: Buffer;
  readonly storedAtMs: number;
}

const PUT: LaneWrite<NewBlob, null> = {
  statement: laneStatement({
    isDurable: false,
    parameters: { digests: 'text[]', storedAts: 'bigint[]', contents: 'bytea[]' },
    parts: `
      stored AS (
        INSERT INTO small_file (digest, stored_at, content)
        SELECT given.* FROM held, unnest(:digests, :storedAts, :contents) AS given (digest, stored_at, content)
        ON CONFLICT (digest) DO UPDATE SET stored_at = ${anotherTime('small_file.stored_at', 'excluded.stored_at')})`,
    outcome: "'null'",
  }),
  isDurable: false,
  keys: ({ digest }) => [digest],
  weight: ({ blob }) => 2 * blob.length,
  values: (blobs) => ({
    digests: blobs.map(({ digest }) => digest),
    storedAts: blobs.map(({ storedAtMs }) => storedAtMs),
    contents: blobs.map(({ blob }) => blob),
  }),
  results: (blobs) => blobs.map(() => null),
};

interface Renewal {
  readonly digest: string;
  readonly nowMs: number;
}

const RENEW: LaneWrite<Renewal, boolean> = {
  statement: laneStatement({
    isDurable: false,
    parameters: { digests: 'text[]', storedAts: 'bigint[]' },
    parts: `
      renewed AS (
        UPDATE small_file SET stored_at = ${anotherTime('small_file.stored_at', 'given.stored_at')}
        FROM held, unnest(:digests, :storedAts) AS given (digest, stored_at)
        WHERE small_file.digest = given.digest RETURNING small_file.digest)`,
    outcome: `SELECT coalesce(json_agg(digest), '[]') FROM renewed`,
  }),
  isDurable: false,
  keys: ({ digest }) => [digest],
  values: (renewals) => ({
    digests: renewals.map(({ digest }) => digest),
    storedAts: renewals.map(({ nowMs }) => nowMs),
  }),
  results: (renewals, outcome) =>
    renewals.map(({ digest }) => (outcome as readonly string[]).includes(digest)),
};

/** Blobs that are removed unless they are held when the statement is sent. */
interface Removal {
  readonly blobs: readonly UnusedBlob[];
  readonly isHeld: (blob: BlobForm) => boolean;
  /** Called with those that may be gone from now on. */
  readonly begin: (digests: readonly string[]) => void;
  /** Filled when the statement is sent. */
  held: readonly UnusedBlob[];
}

const REMOVE: LaneWrite<Removal, readonly UnusedBlob[]> = {
  statement: laneStatement({
    parameters: { digests: 'text[]', encrypted: 'boolean[]', storedAts: 'bigint[]' },
    parts: `
      unreferenced AS (
        SELECT given.* FROM held, unnest(:digests, :encrypted, :storedAts) WITH ORDINALITY
          AS given (digest, encrypted, stored_at, at)
        WHERE NOT ${isReferenced('given.digest', 'given.encrypted')}),
      removed AS (
        DELETE FROM small_file USING unreferenced
        WHERE small_file.digest = unreferenced.digest AND NOT unreferenced.encrypted
          AND (unreferenced.stored_at IS NULL OR small_file.stored_at = unreferenced.stored_at))`,
    outcome: 'SELECT json_agg(at) FROM unreferenced',
  }),
  isDurable: true,
  keys: () => ['all'],
  values: ([removal]) => {
    const free = freeOf(removal);
    removal?.begin(free.map(({ digest }) => digest));
    return {
      digests: free.map(({ digest }) => digest),
      encrypted: free.map(({ encrypted }) => encrypted),
      storedAts: free.map(({ storedAtMs }) => storedAtMs ?? null),
    };
  },
  results: ([removal], outcome) => {
    const free = removal?.blobs.filter((blob) => !removal.held.includes(blob)) ?? [];
    return [((outcome ?? []) as number[]).map((at) => free[at - 1]).filter((blob) => blob !== undefined)];
  },
};

function freeOf(removal: Removal | undefined): readonly UnusedBlob[] {
  if (!removal) return [];
  removal.held = removal.blobs.filter(removal.isHeld);
  return removal.blobs.filter((blob) => !removal.held.includes(blob));
}

interface Sweep {
  readonly digests: readonly string[];
  readonly storedBeforeMs: number;
  readonly isHeld: (digest: string) => boolean;
  readonly begin: (digests: readonly string[]) => void;
}

const SWEEP: LaneWrite<Sweep, number> = {
  statement: laneStatement({
    isDurable: false,
    parameters: { digests: 'text[]', storedBefore: 'bigint' },
    parts: `
      removed AS (
        DELETE FROM small_file USING held WHERE small_file.digest = ANY (:digests) AND stored_at < :storedBefore
          AND NOT ${isReferenced('small_file.digest', 'false')} RETURNING digest)`,
    outcome: 'SELECT to_json(count(*)) FROM removed',
  }),
  isDurable: false,
  keys: () => ['all'],
  values: ([sweep]) => {
    const digests = sweep?.digests.filter((digest) => !sweep.isHeld(digest)) ?? [];
    sweep?.begin(digests);
    return { digests, storedBefore: sweep?.storedBeforeMs };
  },
  results: (_, outcome) => [outcome as number],
};

/** Times in the future, from a clock that was ahead, must not delay the removal. */
const SET_BACK: LaneWrite<number, null> = {
  statement: laneStatement({
    isDurable: false,
    parameters: { now: 'bigint' },
    parts: 'reset AS (UPDATE small_file SET stored_at = :now FROM held WHERE stored_at > :now)',
    outcome: "'null'",
  }),
  isDurable: false,
  keys: () => ['all'],
  values: ([now]) => ({ now }),
  results: () => [null],
};

const FORGET_DROPPED: LaneWrite<readonly number[], null> = {
  statement: laneStatement({
    isDurable: false,
    parameters: { ids: 'bigint[]' },
    parts: 'forgotten AS (DELETE FROM dropped_content USING held WHERE dropped_content.id = ANY (:ids))',
    outcome: "'null'",
  }),
  isDurable: false,
  keys: () => [],
  values: (calls) => ({ ids: calls.flat() }),
  results: (calls) => calls.map(() => null),
};

const FIND = sql({ digest: 'text' }, 'SELECT content FROM small_file WHERE digest = :digest');
const STORED_AT = sql(
  { digests: 'text[]' },
  'SELECT digest, stored_at AS "storedAtMs" FROM small_file WHERE digest = ANY (:digests)',
);
const OLD = sql(
  { after: 'text', storedBefore: 'bigint', limit: 'bigint' },
  `SELECT digest FROM small_file WHERE digest > :after AND stored_at < :storedBefore
     AND NOT ${isReferenced('small_file.digest', 'false')} ORDER BY digest LIMIT :limit`,
);
const REFERENCED = sql(
  { digests: 'text[]', encrypted: 'boolean' },
  `SELECT digest FROM unnest(:digests) AS asked (digest) WHERE ${isReferenced('asked.digest', ':encrypted')}`,
);
const REFERENCED_ENCRYPTED = sql(
  {},
  `SELECT digest FROM task_file WHERE encrypted UNION SELECT digest FROM stored_file WHERE encrypted
   UNION SELECT digest FROM study_file WHERE encrypted`,
);
const DROPPED = sql(
  { after: 'bigint', limit: 'bigint' },
  'SELECT id, digest, encrypted FROM dropped_content WHERE id > :after ORDER BY id LIMIT :limit',
);

/** The statements, for a simulated server. */
export const INLINE_BLOB_STATEMENTS = {
  put: PUT.statement,
  renew: RENEW.statement,
  storedAt: STORED_AT,
  remove: REMOVE.statement,
  sweep: SWEEP.statement,
  setBack: SET_BACK.statement,
  forgetDropped: FORGET_DROPPED.statement,
  find: FIND,
  old: OLD,
  referenced: REFERENCED,
  referencedEncrypted: REFERENCED_ENCRYPTED,
  dropped: DROPPED,
};

export function postgresInlineBlobs(db: Database, { blobs, side }: Lanes): InlineBlobs {
  const recent = new RecentBlobs();
  /** Removals under way: a blob that is found while one is might be gone a moment later. */
  const removals = new Map<string, Promise<unknown>>();

  /** Runs a removal, which tells its blobs when it is sent. */
  async function removing<T>(
    remove: (begin: (digests: readonly string[]) => void) => Promise<T>,
  ): Promise<T> {
    let begun: readonly string[] = [];
    let end: () => void = () => undefined;
    const ended = new Promise<void>((resolve) => {
      end = resolve;
    });
    try {
      return await remove((digests) => {
        begun = digests;
        for (const digest of digests) {
          recent.forget(digest);
          removals.set(digest, ended);
        }
      });
    } finally {
      for (const digest of begun) if (removals.get(digest) === ended) removals.delete(digest);
      end();
    }
  }

  const reads = blobReads(db);
  return {
    ...reads,
    put: async (digest, blob, storedAtMs) =>
      void (await blobs.write(PUT, { digest, blob, storedAtMs }, () => recent.stored(digest, storedAtMs))),
    isRecent: (digest, nowMs) => recent.has(digest, nowMs),
    forgetRecent: (digests) => {
      for (const digest of digests) recent.forget(digest);
    },
    renew: async (digest, nowMs) => {
      await blobs.write(RENEW, { digest, nowMs }, (isThere) => isThere && recent.stored(digest, nowMs));
    },
    find: async (digest) => {
      await removals.get(digest);
      return (await rowOf<{ content: Buffer }, 'digest'>(db, FIND, { digest }))?.content;
    },
    sweep: async (storedBeforeMs, nowMs, isHeld) => {
      await blobs.write(SET_BACK, nowMs);
      let removed = 0;
      for (let after = ''; ; ) {
        const digests = await reads.old(after, storedBeforeMs, SWEEP_BATCH);
        if (digests.length > 0) {
          removed += await removing((begin) =>
            blobs.write(SWEEP, { digests, storedBeforeMs, isHeld, begin }),
          );
        }
        if (digests.length < SWEEP_BATCH) return removed;
        after = digests.at(-1) as string;
      }
    },
    removeUnreferenced: <Blob extends UnusedBlob>(
      given: readonly Blob[],
      isHeld: (blob: BlobForm) => boolean,
    ) =>
      removing(async (begin) => {
        const removal: Removal = { blobs: given, isHeld, begin, held: [] };
        const gone = new Set(await blobs.write(REMOVE, removal));
        const held = new Set(removal.held);
        return {
          held: given.filter((blob) => held.has(blob)),
          unreferenced: given.filter((blob) => gone.has(blob)),
        };
      }),
    forgetDropped: async (ids) => void (await side.write(FORGET_DROPPED, ids)),
  };
}

function blobReads(
  db: Database,
): Pick<InlineBlobs, 'storedAt' | 'old' | 'referenced' | 'referencedEncrypted' | 'dropped'> {
  return {
    storedAt: async (digests) => {
      if (digests.length === 0) return new Map();
      const values = { digests };
      const rows = await rowsOf<{ digest: string; storedAtMs: number }, 'digests'>(db, STORED_AT, values);
      return new Map(rows.map(({ digest, storedAtMs }) => [digest, storedAtMs]));
    },
    old: async (after, storedBeforeMs, limit) => {
      const values = { after, storedBefore: storedBeforeMs, limit };
      const rows = await rowsOf<{ digest: string }, keyof typeof values>(db, OLD, values);
      return rows.map(({ digest }) => digest);
    },
    referenced: async (digests, encrypted) => {
      if (digests.length === 0) return new Set();
      const values = { digests, encrypted };
      const rows = await rowsOf<{ digest: string }, keyof typeof values>(db, REFERENCED, values);
      return new Set(rows.map(({ digest }) => digest));
    },
    referencedEncrypted: async () =>
      (await rowsOf<{ digest: string }>(db, REFERENCED_ENCRYPTED, {})).map(({ digest }) => digest),
    dropped: async (afterId, limit) => {
      const values = { after: afterId, limit };
      return rowsOf<DroppedBlob, keyof typeof values>(db, DROPPED, values);
    },
  };
}

/** Blobs that this hub has stored lately, by digest. */
class RecentBlobs {
  readonly #storedAtMs = new Map<string, number>();

  stored(digest: string, storedAtMs: number): void {
    this.#storedAtMs.delete(digest);
    this.#storedAtMs.set(digest, storedAtMs);
    if (this.#storedAtMs.size <= MAX_RECENT) return;
    const [oldest] = this.#storedAtMs.keys();
    if (oldest !== undefined) this.#storedAtMs.delete(oldest);
  }

  forget(digest: string): void {
    this.#storedAtMs.delete(digest);
  }

  has(digest: string, nowMs: number): boolean {
    const storedAtMs = this.#storedAtMs.get(digest);
    return storedAtMs !== undefined && Math.abs(nowMs - storedAtMs) < RECENT_MS;
  }
}
