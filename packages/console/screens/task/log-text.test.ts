import { describe, expect, it } from 'vitest';
import { LogText, SHOWN_CHARACTERS } from './log-text.js';
import { classesOf } from './sgr.js';

function logOf(...chunks: string[]): LogText {
  const log = new LogText();
  for (const chunk of chunks) log.append(chunk);
  return log;
}

function linesOf(log: LogText): string[] {
  return Array.from({ length: log.lines }, (_, number) => log.line(number).text);
}

describe('the text of a log', () => {
  it('has the same lines however its text arrives', () => {
    const text = 'one\ntwo\n\nfour\nfive';
    const whole = ['one', 'two', '', 'four', 'five'];
    expect(linesOf(logOf(text))).toEqual(whole);
    expect(linesOf(logOf(...text))).toEqual(whole);
    expect(linesOf(logOf(`${text}\n`))).toEqual(whole);
    expect(linesOf(logOf())).toEqual([]);
  });

  it('finds lines again over many pieces', async () => {
    const log = new LogText();
    const count = 60_000;
    for (let at = 0; at < count; at += 100) {
      log.append(Array.from({ length: 100 }, (_, each) => `line ${at + each} ${'.'.repeat(90)}\n`).join(''));
    }
    expect(log.lines).toBe(count);
    for (const number of [0, 1, 9999, 10_000, 31_415, count - 1]) {
      expect(log.line(number).text).toMatch(new RegExp(`^line ${number} `));
    }
    const { signal } = new AbortController();
    expect(await log.search('LINE 31415 ', 10, signal)).toEqual([31_415]);
    expect(await log.search('line 5', 3, signal)).toEqual([5, 50, 51]);
    expect(await log.search('absent', 3, signal)).toEqual([]);
  });

  it('shows a part of an endless line, and says how much more there is', () => {
    const log = logOf('x'.repeat(SHOWN_CHARACTERS + 123), '\nnext');
    expect(log.line(0).text).toHaveLength(SHOWN_CHARACTERS);
    expect(log.line(0).hiddenCharacters).toBe(123);
    expect(log.line(1).text).toBe('next');
  });

  it('knows what the agent did not keep', () => {
    expect(logOf('a\nb\n').gap).toBeUndefined();
    const log = logOf('a\nb\n[agent] 98 byt', 'es are left out here: limits.taskLog\nz\n');
    expect(log.gap).toEqual({ line: 2, bytes: 98 });
    expect(logOf('x [agent] 98 bytes are left out here: limits.taskLog\n').gap).toBeUndefined();
  });

  it('begins a line in the color in which the line before it ended', () => {
    const log = logOf('\u001b[31mred\nstill red\u001b[0m\nplain\n');
    expect([0, 1, 2].map((number) => classesOf(log.line(number).style))).toEqual(['', 'sgr-1', '']);
  });
});
