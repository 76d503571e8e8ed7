import { describe, expect, it, vi } from 'vitest';
import type { ColumnsFilter, ColumnsRow } from './rows.js';
import type { TextFilter } from './segment-texts.js';
import { select } from './selection.js';
import { SharedTexts } from './shared-texts.js';
import { TaskColumns } from './task-columns.js';

const row = (seq: number, rest: Partial<ColumnsRow> = {}): ColumnsRow => ({
  seq,
  id: `id-${seq}`,
  type: 'SIMULATE_WORK',
  status: 'WAITING',
  priority: 2,
  name: null,
  creator: null,
  instanceId: null,
  requestedAtMs: 1000 + seq,
  ...rest,
});

class ColumnsUnderTest extends TaskColumns {
  readonly texts: SharedTexts;

  constructor() {
    const texts = new SharedTexts({
      clock: { nowMs: () => 0, monotonicMs: () => 0 },
      helpers: 0,
      startHelper: () => {
        throw new Error('nobody may help');
      },
    });
    super(texts);
    this.texts = texts;
  }
}

const newColumns = () => new ColumnsUnderTest();

/** Result of a complete search. */
async function searched(
  columns: ColumnsUnderTest,
  { id, name, creator, ...rest }: Partial<ColumnsFilter> & TextFilter,
): Promise<ColumnsFilter> {
  const hasTexts = [id, name, creator].some((pattern) => pattern !== undefined);
  const search = hasTexts ? columns.texts.searchBy({ id, name, creator }) : undefined;
  const filter = { statuses: [], ...rest, search };
  const unsearched = () => columns.unsearched(filter);
  while (search && unsearched().length > 0) await columns.texts.goOn(search, unsearched());
  return filter;
}

const ALL = { order: 'OLDEST_FIRST', from: 0, to: 100 } as const;

const seqsOf = async (
  columns: ColumnsUnderTest,
  filter: Partial<ColumnsFilter> & TextFilter = {},
): Promise<readonly number[]> => select(columns, await searched(columns, filter), ALL).seqs;

describe('columns of tasks', () => {
  it('find the tasks of an instance, also when an earlier one is gone with its tasks', async () => {
    const columns = newColumns();
    columns.add(row(1, { status: 'RUNNING', instanceId: 'sim-1' }));
    columns.add(row(2, { status: 'RUNNING', instanceId: 'sim-2' }));
    columns.update(1, undefined);
    columns.update(2, { status: 'FINISHED', priority: 2, type: 'SIMULATE_WORK', instanceId: 'sim-2' });
    columns.add(row(3, { status: 'RUNNING', instanceId: 'sim-3' }));
    expect(await seqsOf(columns, { instanceIds: ['sim-1'] })).toEqual([]);
    expect(await seqsOf(columns, { instanceIds: ['sim-2'] })).toEqual([2]);
    expect(await seqsOf(columns, { instanceIds: ['sim-3'] })).toEqual([3]);
  });

  it('are empty at first', async () => {
    expect(await seqsOf(newColumns())).toEqual([]);
    expect(newColumns().update(5, undefined)).toBe(false);
  });

  it('hold tasks with distant numbers, in order', async () => {
    const columns = newColumns();
    const seqs = [3, 16_383, 16_384, 70_000, 1e12];
    for (const seq of seqs) columns.add(row(seq, { name: `N ${seq}` }));
    expect(await seqsOf(columns)).toEqual(seqs);
    expect(await seqsOf(columns, { id: 'id-7*' })).toEqual([70_000]);
    expect(await seqsOf(columns, { name: 'n*3*' })).toEqual([3, 16_383, 16_384]);
    expect(columns.lastSeq).toBe(1e12);
  });

  it('return the tasks of a page, in either order, and count all', async () => {
    const columns = newColumns();
    for (const seq of [5, 4095, 4096, 9000, 9001]) columns.add(row(seq, { name: seq === 9000 ? 'b' : 'a' }));
    const filter = await searched(columns, { name: 'a' });
    const selected = (order: 'OLDEST_FIRST' | 'NEWEST_FIRST', from: number, to: number) =>
      select(columns, filter, { order, from, to });
    expect(selected('OLDEST_FIRST', 1, 3)).toEqual({ count: 4, seqs: [4095, 4096] });
    expect(selected('NEWEST_FIRST', 0, 3)).toEqual({ count: 4, seqs: [9001, 4096, 4095] });
    expect(selected('NEWEST_FIRST', 3, 9)).toEqual({ count: 4, seqs: [5] });
    expect(selected('OLDEST_FIRST', 4, 9)).toEqual({ count: 4, seqs: [] });
    expect(selected('OLDEST_FIRST', -7, -2)).toEqual({ count: 4, seqs: [] });
  });

  it('combine all filters', async () => {
    const columns = newColumns();
    columns.add(row(1, { name: 'Gear', creator: 'anna' }));
    columns.add(row(2, { name: 'gear', creator: 'Anna' }));
    columns.add(row(3, { name: 'gear', creator: 'anna', status: 'FAILED', priority: 0 }));
    columns.add(row(4, { creator: 'anna', type: 'EXECUTE_BATCH_JOB' }));
    expect(await seqsOf(columns, { name: 'GEAR' })).toEqual([1, 2, 3]);
    expect(await seqsOf(columns, { name: 'gear', creator: 'anna' })).toEqual([1, 3]);
    expect(await seqsOf(columns, { name: 'gear', creator: 'anna', statuses: ['FAILED', 'RUNNING'] })).toEqual(
      [3],
    );
    expect(await seqsOf(columns, { priority: 'HIGHEST' })).toEqual([3]);
    expect(await seqsOf(columns, { type: 'EXECUTE_BATCH_JOB', id: '*4', creator: 'a*' })).toEqual([4]);
  });

  it.each([
    ['größe Σ', 'GRÖSSE Σ', false],
    ['Größe', 'gRÖß?', true],
    ['ΤΑΣΗ', 'ΤΑΣ*', true],
    ['ΤΑΣ', 'τασ', true],
    ['τάσεις', 'ΤΆΣΕΙΣ', true],
    ['dΣ/dt', 'DΣ*', true],
  ])('compare names without regard to case: %j, %j', async (name, pattern, fits) => {
    const columns = newColumns();
    columns.add(row(1, { name }));
    const inGrowing = await seqsOf(columns, { name: pattern });
    columns.add(row(20_000));
    expect([inGrowing, await seqsOf(columns, { name: pattern })]).toEqual(fits ? [[1], [1]] : [[], []]);
  });

  it('follow changes of a task, and return whether it changed', async () => {
    const columns = newColumns();
    for (const seq of [1, 2, 3]) columns.add(row(seq, { name: `n${seq}` }));
    const running = { type: 'SIMULATE_WORK', status: 'RUNNING', priority: 2, instanceId: 'a' } as const;
    expect(columns.update(2, running)).toBe(true);
    expect(columns.update(2, running)).toBe(false);
    expect(await seqsOf(columns, { statuses: ['RUNNING'] })).toEqual([2]);
    expect(columns.update(3, undefined)).toBe(true);
    expect(columns.update(3, undefined)).toBe(false);
    expect(await seqsOf(columns, { name: 'n*' })).toEqual([1, 2]);
  });

  it('filter by the time of the request and by the latest instance, which changes', async () => {
    const columns = newColumns();
    const ids = [null, 'a', 'b', 'a'];
    for (const [at, instanceId] of ids.entries()) columns.add(row(at + 1, { instanceId, name: `n${at}` }));
    columns.add(row(20_000, { instanceId: 'a', requestedAtMs: 1 }));
    expect(await seqsOf(columns, { instanceIds: ['a'] })).toEqual([2, 4, 20_000]);
    expect(await seqsOf(columns, { instanceIds: ['a', 'b'], name: 'n*' })).toEqual([2, 3, 4]);
    expect(await seqsOf(columns, { instanceIds: ['c'] })).toEqual([]);
    expect(await seqsOf(columns, { requestedFromMs: 1002 })).toEqual([2, 3, 4]);
    expect(await seqsOf(columns, { requestedFromMs: 1002, requestedBeforeMs: 1004 })).toEqual([2, 3]);
    expect(await seqsOf(columns, { requestedBeforeMs: 1002 })).toEqual([1, 20_000]);
    const kind = { type: 'SIMULATE_WORK', status: 'WAITING', priority: 2 } as const;
    expect(columns.update(1, { ...kind, instanceId: 'c' })).toBe(true);
    expect(columns.update(1, { ...kind, instanceId: 'c' })).toBe(false);
    expect(await seqsOf(columns, { instanceIds: ['c'] })).toEqual([1]);
  });

  it('count by status what matches by all else', async () => {
    const columns = newColumns();
    columns.add(row(1, { name: 'x1', status: 'RUNNING' }));
    columns.add(row(2, { name: 'x2' }));
    columns.add(row(9000, { name: 'x3' }));
    columns.add(row(9001, { name: 'y', status: 'FAILED' }));
    const counted = async (filter: Partial<ColumnsFilter> & TextFilter) =>
      columns.countsByStatus(await searched(columns, filter));
    const none = { WAITING: 0, RUNNING: 0, FINISHED: 0, FAILED: 0, CANCELED: 0 };
    expect(await counted({})).toEqual({ ...none, RUNNING: 1, WAITING: 2, FAILED: 1 });
    expect(await counted({ name: 'x*' })).toEqual({ ...none, RUNNING: 1, WAITING: 2 });
    expect(await counted({ requestedFromMs: 9000 })).toEqual({ ...none, WAITING: 1, FAILED: 1 });
    columns.update(9001, undefined);
    expect(await counted({ requestedFromMs: 9000 })).toEqual({ ...none, WAITING: 1 });
    expect(await counted({ requestedFromMs: 9000, priority: 'HIGH' })).toEqual(none);
  });

  it('name those below a place, and count all', async () => {
    const columns = newColumns();
    for (const seq of [1, 2, 3, 4090, 4097, 9000]) columns.add(row(seq));
    const below = (seq: number, to: number) =>
      select(columns, { statuses: [] }, { order: 'NEWEST_FIRST', from: 0, to, below: seq });
    expect(below(Number.MAX_SAFE_INTEGER, 2)).toEqual({ count: 6, seqs: [9000, 4097] });
    expect(below(4097, 2)).toEqual({ count: 6, seqs: [4090, 3] });
    expect(below(3, 5)).toEqual({ count: 6, seqs: [2, 1] });
    expect(below(1, 5)).toEqual({ count: 6, seqs: [] });
    expect(below(5000, 1)).toEqual({ count: 6, seqs: [4097] });
  });

  it('remove a whole segment and continue after it', async () => {
    const columns = newColumns();
    columns.add(row(1, { name: 'old' }));
    columns.update(1, undefined);
    expect(await seqsOf(columns)).toEqual([]);
    columns.add(row(2, { name: 'new' }));
    expect(await seqsOf(columns, { name: '*' })).toEqual([2]);
    columns.add(row(20_000, { name: 'newer' }));
    columns.update(2, undefined);
    expect(await seqsOf(columns, { name: 'new*' })).toEqual([20_000]);
  });

  it('release the texts of a segment with its last task, before and after the segment is full', () => {
    const columns = newColumns();
    const forget = vi.spyOn(columns.texts, 'forget');
    columns.add(row(1));
    columns.add(row(2));
    columns.update(1, undefined);
    columns.update(2, undefined);
    // It may still grow.
    expect(forget.mock.calls).toEqual([]);
    columns.add(row(4096));
    columns.add(row(4097));
    expect(forget.mock.calls).toEqual([[0]]);
    columns.add(row(8192));
    columns.update(4096, undefined);
    expect(forget.mock.calls).toEqual([[0]]);
    columns.update(4097, undefined);
    expect(forget.mock.calls).toEqual([[0], [1]]);
  });

  it('search the growing segment piece by piece, and each of its rows once', async () => {
    const columns = newColumns();
    const search = columns.texts.searchBy({ name: '*7' });
    const filter = { statuses: [], search };
    for (let seq = 5000; seq < 7000; seq++) columns.add(row(seq, { name: `${seq}` }));
    let pieces = 0;
    while (columns.searchGrowing(search)) pieces++;
    expect(pieces).toBe(5);
    expect(select(columns, filter, ALL).count).toBe(200);
    columns.add(row(7007, { name: '7007' }));
    columns.add(row(7008, { name: '7008' }));
    expect(columns.searchGrowing(search)).toBe(false);
    expect(select(columns, filter, ALL)).toMatchObject({ count: 201 });
    columns.add(row(8192, { name: '8197' }));
    expect(columns.unsearched(filter)).toEqual([1]);
    await columns.texts.goOn(search, [1]);
    expect(select(columns, filter, ALL).count).toBe(202);
  });
});
