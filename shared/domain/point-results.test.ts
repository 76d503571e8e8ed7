import { expect, it } from 'vitest';
import {
  contentOfOutput,
  lineOfPoint,
  mayBeBundled,
  type PointResult,
  pointOutput,
  pointResults,
} from './point-results.js';

const RESULT: PointResult = {
  number: 7,
  status: 'OK',
  message: null,
  startedMs: 0.5,
  endedMs: 1,
  outputs: [{ path: 'out/a.txt', text: 'ä\n' }],
};

it('results of points are read back from their lines, the first of each', () => {
  const failed: PointResult = { ...RESULT, number: 8, status: 'ERROR', message: 'no convergence' };
  const text = [RESULT, failed, { ...RESULT, message: 'again' }, { ...RESULT, number: 9 }]
    .map(lineOfPoint)
    .join('');
  expect([...pointResults(text, [7, 8, 10])]).toEqual([
    [7, RESULT],
    [8, failed],
  ]);
});

it.each([
  ['no JSON', 'OK'],
  ['null', 'null'],
  ['no number', JSON.stringify({ ...RESULT, number: '7' })],
  ['another status', JSON.stringify({ ...RESULT, status: 'LOST' })],
  ['no message', JSON.stringify({ ...RESULT, message: undefined })],
  ['a long message', JSON.stringify({ ...RESULT, message: 'x'.repeat(10_001) })],
  ['a time before its start', JSON.stringify({ ...RESULT, endedMs: 0 })],
  ['a time before the bundle', JSON.stringify({ ...RESULT, startedMs: -1 })],
  ['a time that no clock shows', JSON.stringify({ ...RESULT, endedMs: 1e300 })],
  ['no outputs', JSON.stringify({ ...RESULT, outputs: {} })],
  ['very many outputs', JSON.stringify({ ...RESULT, outputs: Array(21).fill(RESULT.outputs[0]) })],
  ['an output outside its directory', JSON.stringify({ ...RESULT, outputs: [{ path: '../a', text: '' }] })],
  ['an output without content', JSON.stringify({ ...RESULT, outputs: [{ path: 'a' }] })],
])('a line with %s is no result', (_, line) => {
  expect(pointResults(`${line}\n`, [7]).size).toBe(0);
  expect(pointResults(`${line}\n${lineOfPoint(RESULT)}`, [7]).get(7)).toEqual(RESULT);
});

it('results after many other lines are not looked for', () => {
  expect(pointResults(`${'{\n'.repeat(259)}${lineOfPoint(RESULT)}`, [7]).size).toBe(1);
  expect(pointResults(`${'\n'.repeat(260)}${lineOfPoint(RESULT)}`, [7]).size).toBe(0);
});

it('an output has its text, or its bytes', () => {
  const both = JSON.stringify({ ...RESULT, outputs: [{ path: 'a', text: null, base64: 'YQ==' }] });
  const outputs = pointResults(both, [7]).get(7)?.outputs ?? [];
  expect(outputs).toEqual([{ path: 'a', base64: 'YQ==' }]);
  expect(outputs.map((output) => String(contentOfOutput(output)))).toEqual(['a']);
});

it.each([
  [true, [{ path: 'a', sizeBytes: 8192 }]],
  [false, [{ path: 'a', sizeBytes: 8193 }]],
  [true, Array.from({ length: 20 }, (_, index) => ({ path: `${index}`, sizeBytes: 0 }))],
  [false, Array.from({ length: 21 }, (_, index) => ({ path: `${index}`, sizeBytes: 0 }))],
  [false, [{ path: 'a\u0000', sizeBytes: 0 }]],
])('whether a line may have outputs: %j for %j', (may, outputs) => {
  expect(mayBeBundled(outputs)).toBe(may);
});

it.each([
  ['text', Buffer.from('a\nä'), { path: 'x', text: 'a\nä' }],
  ['a byte order mark', Buffer.from([0xef, 0xbb, 0xbf, 0x61]), { path: 'x', text: '\ufeffa' }],
  ['bytes that are no text', Buffer.from([0xff, 0]), { path: 'x', base64: '/wA=' }],
])('an output of %s keeps its bytes', (_, content, output) => {
  expect(pointOutput('x', content)).toEqual(output);
  expect(contentOfOutput(output)).toEqual(content);
});
