import { expect, it } from 'vitest';
import { fieldsOf, RecordCutter, separatorOf } from './records.js';
import { thinnedCurves } from './thinned.js';
import { MAX_ROWS, ValueTable } from './value-table.js';

function tableOf(...parts: readonly string[]): ValueTable {
  const table = new ValueTable();
  for (const part of parts) table.push(part);
  table.end();
  return table;
}

it('reads quoted fields with separators, quotes and line breaks, however the text arrives', () => {
  const text = 'name;note\r\n"a;b";"says ""no""\nand more"\r\nc;d';
  for (let cut = 0; cut <= text.length; cut++) {
    const table = tableOf(text.slice(0, cut), text.slice(cut));
    expect(table.names).toEqual(['name', 'note']);
    expect([table.row(0), table.row(1)]).toEqual([
      ['a;b', 'says "no"\nand more'],
      ['c', 'd'],
    ]);
  }
});

it('takes the separator that divides the first line most', () => {
  expect(separatorOf('a;b;c,d')).toBe(';');
  expect(separatorOf('a\tb')).toBe('\t');
  expect(separatorOf('one')).toBe(',');
  expect(fieldsOf('"a,b",c', ',')).toEqual(['a,b', 'c']);
  expect(fieldsOf('"open', ',')).toEqual(['open']);
});

it('numbers the columns of a table without names', () => {
  const table = tableOf('1,2\n3,4\n');
  expect(table.names).toEqual(['#1', '#2']);
  expect(table.rowCount).toBe(2);
});

it('knows which columns are numbers, and which never fall', () => {
  const table = tableOf('t,v,w\n0,1,x\n1,NaN,2\n2,-Infinity,1\n');
  expect(table.column(0)).toMatchObject({ name: 't', count: 3, isAscending: true });
  expect(table.column(1)).toMatchObject({ count: 1, isAscending: false });
  expect(table.column(2)).toMatchObject({ count: 2, isAscending: false });
});

it('is empty for an empty text, and has no rows for names alone', () => {
  expect(tableOf('').names).toEqual([]);
  expect(tableOf('t,v\n')).toMatchObject({ rowCount: 0, isCut: false });
});

it('keeps rows that are too short or too long', () => {
  const table = tableOf('a,b\n1\n1,2,3\n');
  expect([table.row(0), table.row(1)]).toEqual([['1'], ['1', '2', '3']]);
  expect(table.column(1).count).toBe(1);
});

it('stops at its limit of rows, and says so', () => {
  const table = new ValueTable();
  table.push('t\n');
  const many = '1\n'.repeat(100_000);
  let isWanted = true;
  for (let part = 0; part < 10 && isWanted; part++) isWanted = table.push(many);
  expect(isWanted).toBe(false);
  expect(table).toMatchObject({ rowCount: MAX_ROWS, isCut: true });
});

it('does not take the rest of the file for one record after a quote that never ends', () => {
  const cutter = new RecordCutter();
  const line = 'x'.repeat(1000);
  const records = cutter.push(`"${`${line}\n`.repeat(3000)}`);
  expect(records.length).toBeGreaterThan(1000);
});

it('thins curves to their extremes, in order', () => {
  const x = Float64Array.from({ length: 100_000 }, (_, at) => at);
  const y = x.map((at) => (at === 54_321 ? 1000 : Math.sin(at / 1000)));
  const curves = thinnedCurves(x, [y], 1000);
  expect(curves.isThinned).toBe(true);
  expect(curves.x.length).toBeLessThanOrEqual(1002);
  expect(curves.y[0]).toContain(1000);
  expect([...curves.x]).toEqual([...curves.x].sort((a, b) => a - b));
});

it('keeps all points of few, with gaps where there is no number', () => {
  const curves = thinnedCurves(Float64Array.of(0, 1, 2), [Float64Array.of(1, Number.NaN, 3)], 1000);
  expect(curves).toMatchObject({ y: [[1, null, 3]], isThinned: false });
});
