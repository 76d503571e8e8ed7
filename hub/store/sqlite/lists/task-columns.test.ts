import { describe, expect, it } from 'vitest';
import { type ColumnsFilter, select } from './selection.js';
import { SharedTexts } from './shared-texts.js';
import { type ColumnsRow, TaskColumns } from './task-columns.js';

const row = (seq: number, rest: Partial<ColumnsRow> = {}): ColumnsRow => ({
  seq,
  id: `id-${seq}`,
  type: 'SIMULATE_WORK',
  status: 'WAITING',
  priority: 2,
  name: null,
  creator: null,
  ...rest,
});

const newColumns = () =>
  new TaskColumns(
    new SharedTexts({
      helpers: 0,
      startHelper: () => {
        throw new Error('nobody may help');
      },
    }),
  );

const ALL = { order: 'OLDEST_FIRST', from: 0, to: 100 } as const;

const seqsOf = (columns: TaskColumns, filter: Partial<ColumnsFilter> = {}): readonly number[] =>
  select(columns, { statuses: [], ...filter }, ALL).seqs;

describe('columns of tasks', () => {
  it('know nothing at first', () => {
    expect(seqsOf(newColumns())).toEqual([]);
    expect(newColumns().update(5, undefined)).toBe(false);
  });

  it('hold tasks far apart, in order', () => {
    const columns = newColumns();
    const seqs = [3, 16_383, 16_384, 70_000, 1e12];
    for (const seq of seqs) columns.add(row(seq, { name: `N ${seq}` }));
    expect(seqsOf(columns)).toEqual(seqs);
    expect(seqsOf(columns, { id: 'id-7*' })).toEqual([70_000]);
    expect(seqsOf(columns, { name: 'n*3*' })).toEqual([3, 16_383, 16_384]);
    expect(columns.lastSeq).toBe(1e12);
  });

  it('name those from one place to another, in either order, and count all', () => {
    const columns = newColumns();
    for (const seq of [5, 4095, 4096, 9000, 9001]) columns.add(row(seq, { name: seq === 9000 ? 'b' : 'a' }));
    const selected = (order: 'OLDEST_FIRST' | 'NEWEST_FIRST', from: number, to: number) =>
      select(columns, { statuses: [], name: 'a' }, { order, from, to });
    expect(selected('OLDEST_FIRST', 1, 3)).toEqual({ count: 4, seqs: [4095, 4096] });
    expect(selected('NEWEST_FIRST', 0, 3)).toEqual({ count: 4, seqs: [9001, 4096, 4095] });
    expect(selected('NEWEST_FIRST', 3, 9)).toEqual({ count: 4, seqs: [5] });
    expect(selected('OLDEST_FIRST', 4, 9)).toEqual({ count: 4, seqs: [] });
    expect(selected('OLDEST_FIRST', -7, -2)).toEqual({ count: 4, seqs: [] });
  });

  it('filter by everything at once', () => {
    const columns = newColumns();
    columns.add(row(1, { name: 'Gear', creator: 'anna' }));
    columns.add(row(2, { name: 'gear', creator: 'Anna' }));
    columns.add(row(3, { name: 'gear', creator: 'anna', status: 'FAILED', priority: 0 }));
    columns.add(row(4, { creator: 'anna', type: 'EXECUTE_BATCH_JOB' }));
    expect(seqsOf(columns, { name: 'GEAR' })).toEqual([1, 2, 3]);
    expect(seqsOf(columns, { name: 'gear', creator: 'anna' })).toEqual([1, 3]);
    expect(seqsOf(columns, { name: 'gear', creator: 'anna', statuses: ['FAILED', 'RUNNING'] })).toEqual([3]);
    expect(seqsOf(columns, { priority: 'HIGHEST' })).toEqual([3]);
    expect(seqsOf(columns, { type: 'EXECUTE_BATCH_JOB', id: '*4', creator: 'a*' })).toEqual([4]);
  });

  it.each([
    ['größe Σ', 'GRÖSSE Σ', false],
    ['Größe', 'gRÖß?', true],
    ['ΤΑΣΗ', 'ΤΑΣ*', true],
    ['ΤΑΣ', 'τασ', true],
    ['τάσεις', 'ΤΆΣΕΙΣ', true],
    ['dΣ/dt', 'DΣ*', true],
  ])('have names without regard to case: %j, %j', (name, pattern, fits) => {
    const columns = newColumns();
    columns.add(row(1, { name }));
    const inGrowing = seqsOf(columns, { name: pattern });
    columns.add(row(20_000));
    expect([inGrowing, seqsOf(columns, { name: pattern })]).toEqual(fits ? [[1], [1]] : [[], []]);
  });

  it('follow what becomes of a task, and say whether it was news', () => {
    const columns = newColumns();
    for (const seq of [1, 2, 3]) columns.add(row(seq, { name: `n${seq}` }));
    const running = { type: 'SIMULATE_WORK', status: 'RUNNING', priority: 2 } as const;
    expect(columns.update(2, running)).toBe(true);
    expect(columns.update(2, running)).toBe(false);
    expect(seqsOf(columns, { statuses: ['RUNNING'] })).toEqual([2]);
    expect(columns.update(3, undefined)).toBe(true);
    expect(columns.update(3, undefined)).toBe(false);
    expect(seqsOf(columns, { name: 'n*' })).toEqual([1, 2]);
  });

  it('forget a whole segment and go on after it', () => {
    const columns = newColumns();
    columns.add(row(1, { name: 'old' }));
    columns.update(1, undefined);
    expect(seqsOf(columns)).toEqual([]);
    columns.add(row(2, { name: 'new' }));
    expect(seqsOf(columns, { name: '*' })).toEqual([2]);
    columns.add(row(20_000, { name: 'newer' }));
    columns.update(2, undefined);
    expect(seqsOf(columns, { name: 'new*' })).toEqual([20_000]);
  });
});
