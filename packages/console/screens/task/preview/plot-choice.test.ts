import { expect, it } from 'vitest';
import { firstChoice } from './plot-choice.js';
import { ValueTable } from './value-table.js';

function choiceOf(text: string) {
  const table = new ValueTable();
  table.push(text);
  table.end();
  const { x, y } = firstChoice(table.names.map((_, at) => table.column(at)));
  return { x, y };
}

it.each([
  [
    'what can be seen together, over the time',
    'time,speed,load,wear\n0,900,800,0.1\n1,800,950,0.3\n2,900,900,0.2\n',
    0,
    [1, 2],
  ],
  ['no counter when there is something else', 'time,cycle,speed\n0,1,9\n1,2,7\n', 0, [2]],
  ['a counter when there is nothing else', 'time,cycle\n0,1\n1,2\n', 0, [1]],
  ['all over the row when nothing rises', 'a,b\n2,3\n1,2\n', undefined, [0, 1]],
  ['nothing of texts, NaN and infinities', 'a,b\nx,NaN\ny,-Infinity\n', undefined, []],
])('plots %s at first', (_, text, x, y) => {
  expect(choiceOf(text)).toEqual({ x, y });
});
