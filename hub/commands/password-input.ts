/** Input of a new password: twice and hidden at a terminal, otherwise from standard input. */
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { Writable } from 'node:stream';
import { StartRefused } from '@workbench-hub/shared/runtime/run-program';
import { MAX_PASSWORD_LENGTH } from '../core/accounts.js';

/** Rejects with {@link StartRefused} when there is none, or the two differ. `tell` shows a prompt. */
export async function newPassword(
  input: Readable & { readonly isTTY?: boolean },
  tell: (text: string) => void,
): Promise<string> {
  return input.isTTY ? typed(input, tell) : piped(input);
}

async function typed(input: Readable, tell: (text: string) => void): Promise<string> {
  const unseen = new Writable({ write: (_chunk, _encoding, done) => done() });
  const terminal = createInterface({ input, output: unseen, terminal: true });
  const lines = terminal[Symbol.asyncIterator]();
  const ask = async (prompt: string): Promise<string> => {
    tell(prompt);
    const { done, value } = await lines.next();
    tell('\n');
    if (done) throw new StartRefused('no password was given, and nothing was changed');
    return value as string;
  };
  try {
    const password = await ask('Password: ');
    if ((await ask('The same again: ')) === password) return password;
    throw new StartRefused('the two passwords differ, and nothing was changed');
  } finally {
    terminal.close();
  }
}

/** Standard input without the final line break. */
async function piped(input: Readable): Promise<string> {
  const pieces: Buffer[] = [];
  let length = 0;
  for await (const piece of input as AsyncIterable<Buffer>) {
    pieces.push(piece);
    length += piece.length;
    // Longer input is no password; a character has at most 4 bytes.
    if (length > 4 * MAX_PASSWORD_LENGTH + 2) break;
  }
  return Buffer.concat(pieces)
    .toString('utf8')
    .replace(/\r?\n$/, '');
}
