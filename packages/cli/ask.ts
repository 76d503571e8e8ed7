/** Questions on the terminal. */
import { createInterface } from 'node:readline/promises';
import { Writable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { InterruptedError, UsageError } from './exit-codes.js';

/** Asks on the terminal; a hidden answer is not shown. Throws {@link UsageError} with the remedy when there is no terminal, and
 *  {@link InterruptedError} at Ctrl-C. */
export async function ask(question: string, remedy: string, isHidden = false): Promise<string> {
  if (!process.stdin.isTTY) throw new UsageError(`there is no terminal to ask on: ${remedy}`);
  // The reader of a visible line draws the question itself: it begins by clearing the line.
  const shown = isHidden ? '' : question;
  if (isHidden) process.stderr.write(question);
  const silent = new Writable({ write: (_chunk, _encoding, done) => done() });
  const reader = createInterface({
    input: process.stdin,
    output: isHidden ? silent : process.stderr,
    terminal: true,
  });
  try {
    return await reader.question(shown);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ABORT_ERR') throw error;
    throw new InterruptedError('interrupted', { cause: error });
  } finally {
    reader.close();
    if (isHidden) process.stderr.write('\n');
  }
}

/** All of standard input. */
export function readStdin(): Promise<string> {
  return text(process.stdin);
}

/** The ids that were given, or those on standard input. Throws {@link UsageError} with the remedy when that is a terminal. */
export async function idsOf(given: readonly string[], remedy: string): Promise<readonly string[]> {
  if (given.length > 0) return given;
  if (process.stdin.isTTY) throw new UsageError(`which tasks? ${remedy}`);
  return (await readStdin()).split(/\s+/).filter((id) => id !== '');
}
