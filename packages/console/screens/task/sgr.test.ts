import { describe, expect, it } from 'vitest';
import { classesOf, PLAIN, plainLine, styledLine } from './sgr.js';

const ESC = '\u001b';

describe('a line with escape sequences', () => {
  it('is cut into parts with their styles', () => {
    const { parts, style } = styledLine(`a ${ESC}[1;31mred${ESC}[0m b ${ESC}[94mblue`, PLAIN);
    expect(parts.map(({ text }) => text)).toEqual(['a ', 'red', ' b ', 'blue']);
    expect(parts.map((part) => classesOf(part.style))).toEqual(['', 'sgr-1 sgr-bold', '', 'sgr-12']);
    expect(classesOf(style)).toBe('sgr-12');
  });

  it('takes the first 16 of the 256 colors, and skips the parameters of others', () => {
    const { parts } = styledLine(`${ESC}[38;5;2mx${ESC}[38;2;1;2;3my${ESC}[4mz`, PLAIN);
    expect(parts.map((part) => classesOf(part.style))).toEqual(['sgr-2', 'sgr-2', 'sgr-2 sgr-underlined']);
  });

  it('loses every other sequence and control character', () => {
    const line = `${ESC}]0;title\u0007a${ESC}[2J${ESC}[?25lb\u0000\u0008c${ESC}]8;;http://x${ESC}\\d${ESC}(Be`;
    expect(plainLine(line)).toBe('abcde');
  });

  it('shows what a terminal shows after a carriage return', () => {
    expect(plainLine('10 %\r20 %\r30 %')).toBe('30 %');
    expect(plainLine('whole line\r')).toBe('whole line');
  });

  it('keeps markup as text', () => {
    expect(plainLine('<img src=x onerror=alert(1)>')).toBe('<img src=x onerror=alert(1)>');
  });
});
