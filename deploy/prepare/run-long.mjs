/** A program of this clone that runs for minutes, and cleans up when it is ended. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { constants } from 'node:os';

const SIGNALS = ['SIGHUP', 'SIGINT', 'SIGTERM'];

/** Runs it in `cwd`; resolves with its exit code. It is told to stop by the end of its channel to this process: by a signal to this process alone, or
 *  when this process is gone in whichever way. A signal of a terminal reaches both, and counts once. */
export async function runLongProgram(args, cwd) {
  const child = spawn(process.execPath, args, { cwd, stdio: ['inherit', 'inherit', 'inherit', 'ipc'] });
  const tellStop = () => {
    if (child.connected) child.disconnect();
  };
  for (const signal of SIGNALS) process.on(signal, tellStop);
  const [code, signal] = await once(child, 'exit');
  for (const each of SIGNALS) process.off(each, tellStop);
  return code ?? 128 + constants.signals[signal];
}
