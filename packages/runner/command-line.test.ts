import { describe, expect, it } from 'vitest';
import { readCommandLine, splitWords } from './command-line.js';

describe('splitWords', () => {
  it.each([
    ['node', ['node']],
    ['  octave-cli   --quiet ', ['octave-cli', '--quiet']],
    [`sh -c 'echo "a b"' x`, ['sh', '-c', 'echo "a b"', 'x']],
    ['"C:\\Program Files\\node.exe" --x=""', ['C:\\Program Files\\node.exe', '--x=']],
    ["a''b ''", ['ab', '']],
    ['', []],
  ])('cuts %j', (command, words) => expect(splitWords(command)).toEqual(words));
});

describe('readCommandLine', () => {
  it('runs node unless told otherwise', () =>
    expect(readCommandLine([])).toEqual({ kind: 'serve', interpreter: ['node'] }));

  it('says what is wrong', () =>
    expect(readCommandLine(['--interpeter', 'sh'])).toEqual({
      kind: 'refused',
      message: expect.stringContaining('--interpeter'),
    }));
});
