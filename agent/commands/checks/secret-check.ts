import { stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import { type Finding, fault, faultWithRemedy, ok, warning } from '@workbench-hub/shared/checks/finding';
import { JoinFailed } from '@workbench-hub/shared/joining/ports/hub';
import { StartRefused } from '@workbench-hub/shared/runtime/run-program';
import { secretOf } from '../../agent-secret.js';
import { type AgentConfig, credentialFileOf } from '../../config.js';

const OTHERS = 0o077;

/** Whether there is a token or credential, and nobody else can read its file. */
export async function checkSecret(config: AgentConfig): Promise<Finding[]> {
  const kind = config.token === null && config.tokenFile === null ? 'credential' : 'token';
  try {
    await (await secretOf(config)).read();
  } catch (error) {
    if (error instanceof StartRefused) return [faultWithRemedy(kind, error.message)];
    if (!(error instanceof JoinFailed)) throw error;
    const advice =
      kind === 'token'
        ? 'correct tokenFile, or the rights of the file: this user must be able to read it'
        : 'run this as the user of the agent; a lost credential is replaced by "workbench-agent enroll"';
    return [fault(kind, error.message, advice)];
  }
  if (config.token !== null) return [ok(kind, 'in the configuration')];
  const file = resolve(config.tokenFile ?? credentialFileOf(config));
  const { mode } = await stat(file);
  if (process.platform === 'win32' || (mode & OTHERS) === 0) return [ok(kind, `readable in ${file}`)];
  const octal = (mode & 0o777).toString(8);
  return [warning(kind, `${file} can be read by other users (mode ${octal})`, `run "chmod 600 ${file}"`)];
}
