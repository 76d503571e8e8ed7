/** The numbers of both stores, and the page that says when they run out. */
import { readFile } from 'node:fs/promises';
import { openInMemory } from '@workbench-hub/hub/store/sqlite/fixtures/database-in-memory';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { hasPostgres, migratedDatabase, type TestDatabase } from '../support/stores/postgres.js';

const MIN_YEARS = 50;
const SECONDS_A_YEAR = 365.25 * 86_400;
const SECONDS = { second: 1, minute: 60, hour: 3600 };

/** Columns with times, durations, sizes and references to numbers of other tables. */
const NO_COUNTER = /_(?:at|ms|bytes|seq|id|s|of)$|\.(?:start|since)$/;

interface Row {
  readonly names: readonly string[];
  readonly most: string;
  readonly pace: string;
  readonly lasts: string;
}

/** Rows of the table of the page. */
async function rowsOfPage(): Promise<Row[]> {
  const page = await readFile(new URL('../../packages/docs/reliability.md', import.meta.url), 'utf8');
  const [, section = ''] = /^## Numbers that run out\n(.*?)^## /ms.exec(page) ?? [];
  const rows = [...section.matchAll(/^\| (`.*?) \| (.*?) \| (.*?) \| (.*?) \|$/gm)];
  return rows.map(([, names = '', most = '', pace = '', lasts = '']) => ({
    names: [...names.matchAll(/`([^`]+)`/g)].map(([, name]) => name as string),
    ...{ most, pace, lasts },
  }));
}

/** Years after which a number runs out that begins at 0. */
function yearsOf({ most, pace }: Row): number {
  const [, base, exponent] = /^(\d+)<sup>(\d+)<\/sup>$/.exec(most) ?? [];
  const [, times, each, unit] = /^([\d,]+) (?:in (\d+) |an? )(second|minute|hour)s?\b/.exec(pace) ?? [];
  const paceS =
    Number(times?.replaceAll(',', '')) / Number(each ?? 1) / SECONDS[unit as keyof typeof SECONDS];
  return Number(base) ** Number(exponent) / paceS / SECONDS_A_YEAR;
}

async function missing(names: readonly string[]): Promise<string[]> {
  const known = new Set((await rowsOfPage()).flatMap((row) => row.names));
  return names.filter((name) => !known.has(name));
}

describe('no number', () => {
  it('of the table runs out within 50 years, nor earlier than it says', async () => {
    const rows = await rowsOfPage();
    expect(rows.length).toBeGreaterThan(10);
    for (const row of rows) {
      if (row.lasts === 'is bounded') continue;
      const [, said = ''] = /^([\d,]+) years$/.exec(row.lasts) ?? [];
      const years = Number(said.replaceAll(',', ''));
      expect(years, row.names.join()).toBeGreaterThanOrEqual(MIN_YEARS);
      expect(yearsOf(row), row.names.join()).toBeGreaterThanOrEqual(years);
    }
  });

  it('of the store on SQLite is left out', async () => {
    const db = openInMemory(null);
    const columns = db
      .prepare<[], { name: string }>(
        `SELECT tables.name || '.' || columns.name AS name FROM sqlite_schema AS tables, pragma_table_info(tables.name) AS columns
         WHERE tables.type = 'table' AND tables.name NOT LIKE 'sqlite_%' AND columns.type = 'INTEGER'`,
      )
      .all()
      .map(({ name }) => name);
    db.close();
    expect(columns.length).toBeGreaterThan(20);
    expect(await missing(columns.filter((name) => !NO_COUNTER.test(name)))).toEqual([]);
  });
});

describe.skipIf(!hasPostgres)('no number of the store on PostgreSQL', () => {
  let database: TestDatabase;
  beforeAll(async () => {
    database = await migratedDatabase();
  });
  afterAll(() => database.drop());

  it('is left out', async () => {
    const columns = await database.query<{ name: string }>(
      `SELECT table_name || '.' || column_name AS name FROM information_schema.columns
       WHERE table_schema = 'public' AND data_type IN ('smallint', 'integer', 'bigint')`,
    );
    const names = columns.map(({ name }) => name);
    expect(names.length).toBeGreaterThan(40);
    expect(await missing(names.filter((name) => !NO_COUNTER.test(name)))).toEqual([]);
  });

  it('comes from a sequence that is left out, or ends before its column', async () => {
    const sequences = await database.query<{ name: string; most: string }>(
      `SELECT coalesce(owner.relname || '.' || attname, pg_sequences.sequencename) AS name, max_value AS most
       FROM pg_sequences
       LEFT JOIN pg_depend ON objid = (schemaname || '.' || sequencename)::regclass AND deptype = 'i'
       LEFT JOIN pg_class AS owner ON owner.oid = refobjid
       LEFT JOIN pg_attribute ON attrelid = refobjid AND attnum = refobjsubid`,
    );
    expect(sequences.length).toBeGreaterThan(4);
    expect(await missing(sequences.map(({ name }) => name))).toEqual([]);
    const rows = await rowsOfPage();
    for (const { name, most } of sequences) {
      const row = rows.find(({ names }) => names.includes(name));
      const [, base, exponent] = /^(\d+)<sup>(\d+)<\/sup>$/.exec(row?.most ?? '') ?? [];
      expect(Number(most) + 1, name).toBeGreaterThanOrEqual(Number(base) ** Number(exponent));
    }
  });
});
