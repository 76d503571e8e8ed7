import { systemRuntime } from '@workbench-hub/shared/runtime/system-runtime';
import { describe, expect, it } from 'vitest';
import { ListColumns } from './list-columns.js';
import type { ColumnsRow } from './rows.js';

const columnsOf = (rows: readonly Partial<ColumnsRow>[]): ListColumns => {
  const columns = new ListColumns({ helpers: 0, clock: systemRuntime.clock });
  for (const [at, row] of rows.entries()) {
    columns.add({
      seq: at + 1,
      id: `id-${at}`,
      name: null,
      creator: null,
      type: 'SIMULATE_WORK',
      status: 'WAITING',
      priority: 2,
      instanceId: null,
      requestedAtMs: 1000 + at,
      ...row,
    });
  }
  return columns;
};

const ALL = { order: 'NEWEST_FIRST', from: 0, to: 10 } as const;

describe('list columns', () => {
  it('count and select tasks by kind without a search, the newest first', async () => {
    const columns = columnsOf([{}, { status: 'RUNNING' }, {}]);
    const filter = { statuses: ['WAITING'] as const };
    expect(await columns.searchForOneTurn(filter)).toBe(false);
    expect(columns.select(filter, ALL)).toEqual({ count: 2, seqs: [3, 1] });
    columns.update(3, undefined);
    columns.update(1, { type: 'SIMULATE_WORK', status: 'RUNNING', priority: 2, instanceId: null });
    expect(columns.select({ statuses: ['RUNNING'] }, ALL)).toEqual({ count: 2, seqs: [2, 1] });
  });

  it('search names turn by turn, over full segments and the growing one', async () => {
    const rows = Array.from({ length: 9000 }, (_, at) => ({
      name: at % 1000 === 7 ? 'Gear 7' : `other ${at}`,
    }));
    const columns = columnsOf(rows);
    const filter = { search: columns.searchBy({ name: 'gear*' }), statuses: [] };
    expect(columns.isSearched(filter)).toBe(false);
    while (await columns.searchForOneTurn(filter));
    expect(columns.isSearched(filter)).toBe(true);
    expect(columns.select(filter, { order: 'OLDEST_FIRST', from: 1, to: 3 })).toEqual({
      count: 9,
      seqs: [1008, 2008],
    });
  });
});
