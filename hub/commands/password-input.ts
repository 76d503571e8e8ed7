/** Input of a new password: twice and hidden at a terminal, otherwise from standard input. */
import type { Readable } from 'node:stream';
import { type TerminalInput, withHiddenAnswers } from '@workbench-hub/shared/runtime/hidden-answers';
import { StartRefused } from '@workbench-hub/shared/runtime/run-program';
import { MAX_PASSWORD_LENGTH } from '../core/accounts.js';

/** Rejects with {@link StartRefused} when there is none, or the two differ. `tell` shows a prompt. */
export async function newPassword(input: TerminalInput, tell: (text: string) => void): Promise<string> {
  return input.isTTY ? typed(input, tell) : piped(input);
}

function typed(input: Readable, tell: (text: string) => void): Promise<string> {
  return withHiddenAnswers(input, tell, async (askHidden) => {
    const ask = async (prompt: string): Promise<string> => {
      const answer = await askHidden(prompt);
      if (answer === undefined) throw new StartRefused('no password was given, and nothing was changed');
      return answer;
    };
    const password = await ask('Password: ');
    if ((await ask('The same again: ')) === password) return password;
    throw new StartRefused('the two passwords differ, and nothing was changed');
  });
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
