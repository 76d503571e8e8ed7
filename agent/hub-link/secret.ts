/** What an agent shows to a hub: the token that all agents share, or a credential of its own. */
import { readFile } from 'node:fs/promises';
import { JoinFailed } from '../core/ports/hub.js';

export interface AgentSecret {
  /** Asked at each dial, so that a file may be replaced while the agent runs; rejects with {@link JoinFailed}. */
  read(): Promise<string>;
  /** What to do when a hub does not accept it. */
  readonly advice: string;
}

export type SecretSource =
  | { readonly token: string }
  | { readonly tokenFile: string }
  | { readonly credentialFile: string; readonly agentId: string };

export function agentSecret(source: SecretSource): AgentSecret {
  if ('token' in source) return { read: () => Promise.resolve(source.token), advice: TOKEN_ADVICE };
  if ('tokenFile' in source) {
    return {
      read: () => readSecret(`the tokenFile ${source.tokenFile}`, source.tokenFile),
      advice: TOKEN_ADVICE,
    };
  }
  return {
    read: () => readSecret(`the credential ${source.credentialFile}`, source.credentialFile),
    advice:
      "it does not accept this agent's credential (401), which was revoked or replaced, or is of another hub: " +
      `have a code made by "workbench-hub agent enroll ${source.agentId}", then run "workbench-agent enroll"`,
  };
}

const TOKEN_ADVICE =
  'it does not accept the token (401): set "token" or "tokenFile" to the hub\'s agents.token, or to the content of <hub\'s dataDir>/agent-token';

async function readSecret(what: string, file: string): Promise<string> {
  let text: string;
  try {
    text = (await readFile(file, 'utf8')).trim();
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new JoinFailed(`${what} cannot be read (${code})`, { cause: error });
  }
  // What cannot stand in a header would fail later and less clearly.
  if (!/^[\x21-\x7e]+$/.test(text)) throw new JoinFailed(`${what} holds no token`);
  return text;
}
