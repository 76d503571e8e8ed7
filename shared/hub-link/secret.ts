/** Authentication of an agent: the token that all agents share, or its own credential. */
import { readFile } from 'node:fs/promises';
import { JoinFailed } from '../joining/ports/hub.js';

export interface AgentSecret {
  /** Called for each dial, so that the file may be replaced; rejects with {@link JoinFailed}. */
  read(): Promise<string>;
  /** Remedy when a hub rejects the secret. */
  readonly advice: string;
}

export type SecretSource =
  | { readonly token: string }
  | { readonly tokenFile: string }
  | { readonly credentialFile: string; readonly agentId: string };

/** `enrollCommand` exchanges a code for a credential. */
export function agentSecret(source: SecretSource, enrollCommand: string): AgentSecret {
  if ('token' in source)
    return { read: () => Promise.resolve(source.token), advice: tokenAdvice(enrollCommand) };
  if ('tokenFile' in source) {
    return {
      read: () => readSecret(`the tokenFile ${source.tokenFile}`, source.tokenFile),
      advice: tokenAdvice(enrollCommand),
    };
  }
  return {
    read: () => readSecret(`the credential ${source.credentialFile}`, source.credentialFile),
    advice:
      "it does not accept this agent's credential (401), which was revoked or replaced, or is of another hub: " +
      `have a code made by "workbench-hub agent enroll ${source.agentId}", then run "${enrollCommand}"`,
  };
}

const tokenAdvice = (enrollCommand: string) =>
  'it does not accept the token (401): set "token" or "tokenFile" to the hub\'s agents.token, or to the content of ' +
  "<hub's dataDir>/agent-token; if the hub has agents.enrolledOnly, it accepts no token: remove both and enroll this agent " +
  `("workbench-hub agent enroll" there, "${enrollCommand}" here)`;

async function readSecret(what: string, file: string): Promise<string> {
  let text: string;
  try {
    text = (await readFile(file, 'utf8')).trim();
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new JoinFailed(`${what} cannot be read (${code})`, { cause: error });
  }
  // A value that no header can carry would fail later and less clearly.
  if (!/^[\x21-\x7e]+$/.test(text)) throw new JoinFailed(`${what} holds no token`);
  return text;
}
