import { readFile } from 'node:fs/promises';
import { JoinFailed } from '../core/ports/hub.js';

/** Gives the token: the fixed one, or what the file holds now, so that it may be replaced while the agent runs. */
export function tokenSource(
  source: { readonly token: string } | { readonly tokenFile: string },
): () => Promise<string> {
  if ('token' in source) return () => Promise.resolve(source.token);
  return async () => {
    let text: string;
    try {
      text = (await readFile(source.tokenFile, 'utf8')).trim();
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      throw new JoinFailed(`the tokenFile ${source.tokenFile} cannot be read (${code})`, { cause: error });
    }
    // What cannot stand in a header would fail later and less clearly.
    if (!/^[\x21-\x7e]+$/.test(text))
      throw new JoinFailed(`the tokenFile ${source.tokenFile} holds no token`);
    return text;
  };
}
