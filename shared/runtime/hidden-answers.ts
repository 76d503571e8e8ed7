/** Answers at a terminal that are not shown, such as passwords. */
import { createInterface } from 'node:readline';
import { type Readable, Writable } from 'node:stream';

export type TerminalInput = Readable & { readonly isTTY?: boolean };

/** Resolves with the answer; undefined when the input has ended or was interrupted. */
export type AskHidden = (prompt: string) => Promise<string | undefined>;

/** Reads answers while `use` runs; `tell` shows a prompt. */
export async function withHiddenAnswers<T>(
  input: Readable,
  tell: (text: string) => void,
  use: (ask: AskHidden) => Promise<T>,
): Promise<T> {
  const unseen = new Writable({ write: (_chunk, _encoding, done) => done() });
  const terminal = createInterface({ input, output: unseen, terminal: true });
  const lines = terminal[Symbol.asyncIterator]();
  try {
    return await use(async (prompt) => {
      tell(prompt);
      const { done, value } = await lines.next();
      tell('\n');
      return done ? undefined : (value as string);
    });
  } finally {
    terminal.close();
  }
}
