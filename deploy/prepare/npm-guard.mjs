// Runs a command in a process group of its own and ends all of it when standard input ends: when the process that started
// this one has ended, in whichever way. node npm-guard.mjs COMMAND ARGUMENT ...
import { spawn } from 'node:child_process';

const isWindows = process.platform === 'win32';
const [command, ...args] = process.argv.slice(2);
const child = spawn(command, args, {
  stdio: ['ignore', 'inherit', 'inherit'],
  detached: !isWindows,
  shell: isWindows && command === 'npm', // npm is a .cmd file there
});
const end = () => {
  if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return;
  if (isWindows) child.kill();
  else process.kill(-child.pid, 'SIGKILL');
};
process.stdin.on('end', end).on('error', end).resume();
// Sent by a terminal to its whole group: the process that started this one decides.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => undefined);
child.once('error', (error) => {
  console.error(
    `Cannot start ${command} (${error.message}). npm comes with Node.js; check that it is in PATH.`,
  );
  process.exit(1);
});
child.once('exit', (code, signal) => process.exit(signal === null ? code : 1));
