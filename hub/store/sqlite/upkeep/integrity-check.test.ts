import { closeSync, openSync, writeSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { refuseDamaged } from '../connection/integrity-check.js';
import { inspectDatabase } from './inspection.js';

const MIB = 1024 ** 2;

let folder: string;
let file: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'workbench-test-'));
  file = join(folder, 'hub.sqlite');
});
afterEach(() => rm(folder, { recursive: true }));

/** A page that belongs to a table of several pages. */
const DAMAGED_PAGE = 5;

/** Creates a database of a little more than this size, in which one page is overwritten. */
function damagedDatabase(sizeMib: number): void {
  const db = new Database(file);
  db.exec('CREATE TABLE small (text)');
  const insert = db.prepare('INSERT INTO small VALUES (?)');
  db.transaction(() => {
    for (let row = 0; row < 100; row++) insert.run('x'.repeat(1000));
  })();
  db.exec(`CREATE TABLE large (bytes); INSERT INTO large VALUES (zeroblob(${sizeMib * MIB}))`);
  const pageBytes = db.pragma('page_size', { simple: true }) as number;
  db.close();
  const opened = openSync(file, 'r+');
  writeSync(opened, Buffer.alloc(pageBytes, 7), 0, pageBytes, (DAMAGED_PAGE - 1) * pageBytes);
  closeSync(opened);
}

/** Checks the database as a start does. */
function check(): void {
  const db = new Database(file);
  try {
    refuseDamaged(db, file);
  } finally {
    db.close();
  }
}

it('damage within a database of up to 64 MiB is found at the start', () => {
  damagedDatabase(63);
  expect(check).toThrow(/hub\.sqlite is damaged: .*restore a backup/);
});

it('a larger database is not read as a whole at the start, but by doctor', () => {
  damagedDatabase(64);
  check();
  expect(() => inspectDatabase(file, true)).toThrow(
    /hub\.sqlite cannot be used: .*malformed.*restore a backup/,
  );
});
