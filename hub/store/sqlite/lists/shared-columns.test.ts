import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { openDatabase, type SqliteDatabase } from '../database.js';
import { SegmentRows } from './segment-rows.js';
import { select } from './selection.js';
import { SharedColumns } from './shared-columns.js';
import { SEGMENT_ROWS, TaskColumns } from './task-columns.js';

let folder: string;
let db: SqliteDatabase;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'workbench-test-'));
  db = openDatabase(join(folder, 'hub.sqlite'));
  db.exec("INSERT INTO requirement (id, key) VALUES (1, 'k')");
});
afterEach(async () => {
  db.close();
  await rm(folder, { recursive: true });
});

const insert = (seq: number, status = 'WAITING') =>
  db
    .prepare(
      `INSERT INTO task (seq, id, type, status, priority, requirement_id, requested_at, classifiers, job)
       VALUES (?, ?, 'SIMULATE_WORK', ?, 2, 1, 0, '[]', '{}')`,
    )
    .run(seq, `id-${seq}`, status);

/** A helper in this thread. */
class NearbyHelper extends TaskColumns {
  readonly loaded: [number, number][] = [];

  load(after: number, last: number): void {
    this.loaded.push([after, last]);
    for (const row of new SegmentRows(db).between(after, last)) this.add(row);
  }

  count(...[filter]: Parameters<TaskColumns['counts']>) {
    const counts = this.counts(filter);
    return () => counts;
  }
}

const helperOf = (columns: NearbyHelper) => ({
  load: columns.load.bind(columns),
  update: columns.update.bind(columns),
  count: columns.count.bind(columns),
  seqs: (...asked: Parameters<TaskColumns['seqs']>) => {
    const seqs = columns.seqs(...asked);
    return () => seqs;
  },
});

const ALL = { order: 'OLDEST_FIRST', from: 0, to: 1000 } as const;

it('a small store is held by one thread, the segments of a larger one by whoever has fewest', () => {
  const started: NearbyHelper[] = [];
  const startHelper = () => {
    const helper = new NearbyHelper();
    started.push(helper);
    return helperOf(helper);
  };
  const columns = new SharedColumns({ db, helpers: 2, startHelper });
  const first = (segment: number) => segment * SEGMENT_ROWS + 7;
  const seqs: number[] = [];
  const add = (from: number, to: number) => {
    for (let segment = from; segment < to; segment++) {
      insert(first(segment));
      seqs.push(first(segment));
    }
    columns.keepUp();
    expect(select(columns, { statuses: [] }, ALL)).toEqual({ count: seqs.length, seqs });
  };
  add(0, 12);
  expect(started).toHaveLength(0);
  add(12, 39);
  expect(started.map(({ loaded }) => loaded.length)).toEqual([13, 13]);
  // More of a segment goes where the segment is.
  insert(first(38) + 1);
  seqs.push(first(38) + 1);
  columns.keepUp();
  expect(select(columns, { statuses: [] }, ALL).seqs).toEqual(seqs);

  columns.update(first(20), { type: 'SIMULATE_WORK', status: 'FAILED', priority: 2 });
  columns.update(first(2), undefined);
  expect(select(columns, { statuses: ['FAILED'] }, ALL)).toEqual({ count: 1, seqs: [first(20)] });
  expect(select(columns, { statuses: [] }, ALL).count).toBe(seqs.length - 1);
});
