import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { StartRefused } from '@workbench-hub/shared/runtime/run-program';
import Database from 'better-sqlite3';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openDatabase } from './database.js';

let folder: string;
let file: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'workbench-test-'));
  file = join(folder, 'data', 'hub.sqlite');
});
afterEach(() => rm(folder, { recursive: true }));

/** The refusal of a start; fails when there is none. */
function refusal(): string {
  try {
    openDatabase(file).close();
  } catch (error) {
    if (error instanceof StartRefused) return error.message;
    throw error;
  }
  throw new Error('the database was opened');
}

describe('opening the database', () => {
  it('creates it with its folder, and finds all data again', () => {
    const first = openDatabase(file);
    first.prepare("INSERT INTO requirement (key) VALUES ('k')").run();
    first.close();
    const second = openDatabase(file);
    expect(second.prepare('SELECT key FROM requirement').pluck().all()).toEqual(['k']);
    expect(second.pragma('user_version', { simple: true })).toBeGreaterThan(0);
    second.close();
  });

  it('uses a write-ahead log, leaves syncs to the group commit, and checks references', () => {
    const db = openDatabase(file);
    const settings = ['journal_mode', 'synchronous', 'foreign_keys', 'locking_mode'];
    expect(settings.map((name) => db.pragma(name, { simple: true }))).toEqual(['wal', 1, 1, 'normal']);
    db.close();
  });

  it('is refused while another hub of this process has it open', () => {
    const first = openDatabase(file);
    expect(refusal()).toBe(`the database ${file} is in use: another hub runs with the same dataDir`);
    first.close();
    openDatabase(file).close();
  });

  it('is refused while another process has it open, and allowed once that was killed', async () => {
    openDatabase(file).close();
    const sqlite = createRequire(import.meta.url).resolve('better-sqlite3');
    const script = `
      const db = new (require(${JSON.stringify(sqlite)}))(${JSON.stringify(file)});
      db.pragma('locking_mode = EXCLUSIVE');
      db.exec("INSERT INTO requirement (key) VALUES ('of the other process')");
      console.log('open');
      setInterval(() => undefined, 1000);`;
    const other = spawn(process.execPath, ['-e', script], { stdio: ['ignore', 'pipe', 'inherit'] });
    try {
      await once(other.stdout, 'data');
      expect(refusal()).toBe(`the database ${file} is in use: another hub runs with the same dataDir`);
    } finally {
      other.kill('SIGKILL');
      await once(other, 'close');
    }
    const db = openDatabase(file);
    expect(db.prepare('SELECT key FROM requirement').pluck().all()).toEqual(['of the other process']);
    db.close();
  });

  it('is refused when a newer hub wrote it, and does not change it', async () => {
    openDatabase(file).close();
    const newer = new Database(file);
    newer.pragma('user_version = 99');
    newer.close();
    expect(refusal()).toMatch(
      /hub[.]sqlite has schema version 99, this hub knows up to \d+: start the newer hub that wrote it, or restore a backup from before the update$/,
    );
    const untouched = new Database(file);
    expect(untouched.pragma('user_version', { simple: true })).toBe(99);
    untouched.close();
  });

  it('is refused when it is no database, and does not change the file', async () => {
    await mkdir(join(folder, 'data'));
    const rubbish = 'this is no database, whatever its name says\n'.repeat(100);
    await writeFile(file, rubbish);
    expect(refusal()).toBe(
      `the database ${file} cannot be used: file is not a database (SQLITE_NOTADB); restore a backup (workbench-hub restore)`,
    );
    expect(await readFile(file, 'utf8')).toBe(rubbish);
  });

  it('is refused when its path is a folder', async () => {
    await mkdir(file, { recursive: true });
    expect(refusal()).toMatch(/^the database .* cannot be used: .*\(SQLITE_CANTOPEN/);
  });
});
