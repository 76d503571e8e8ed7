import { PassThrough } from 'node:stream';
import { StartRefused } from '@workbench-hub/shared/runtime/run-program';
import { describe, expect, it } from 'vitest';
import { newPassword } from './password-input.js';

function inputOf(text: string, isTTY: boolean) {
  const input = Object.assign(new PassThrough(), { isTTY });
  input.end(text);
  return input;
}

const silent = () => undefined;

describe('a new password from standard input', () => {
  it.each([
    ['correct horse\n', 'correct horse'],
    ['correct horse\r\n', 'correct horse'],
    ['correct horse', 'correct horse'],
    [' correct horse \n\n', ' correct horse \n'],
    ['', ''],
  ])('is all of %j except the line break at its end', async (text, password) => {
    expect(await newPassword(inputOf(text, false), silent)).toBe(password);
  });

  it('is limited in length', async () => {
    const endless = Object.assign(new PassThrough(), { isTTY: false });
    endless.write(Buffer.alloc(100_000, 'x'));
    expect((await newPassword(endless, silent)).length).toBeGreaterThan(1024);
  });
});

describe('a new password at a terminal', () => {
  const told: string[] = [];
  const typed = (text: string) => newPassword(inputOf(text, true), (prompt) => told.push(prompt));

  it('is prompted for twice, and never shown', async () => {
    expect(await typed('correct horse\rcorrect horse\r')).toBe('correct horse');
    expect(told.join('')).toBe('Password: \nThe same again: \n');
  });

  it('can be corrected while it is typed', async () => {
    expect(await typed('correct hors\x7fse\rcorrect horse\r')).toBe('correct horse');
  });

  it('is refused when the second differs or is missing', async () => {
    const refusals = [
      typed('correct horse\rcorrect house\r'),
      typed('correct horse\r'),
      typed(''),
      typed('x\x03'),
    ];
    for (const refusal of refusals) await expect(refusal).rejects.toBeInstanceOf(StartRefused);
  });
});
