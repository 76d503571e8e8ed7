// Starts hub and agent as processes of their own and ends them again; what they say goes to files beside their data.
import { spawn } from 'node:child_process';
import { existsSync, openSync, readFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';

const POLL_MS = 50;

/** Whether nobody listens on this port of the loopback address. */
export function isPortFree(port) {
  return new Promise((resolve) => {
    const probe = createServer();
    probe.once('error', () => resolve(false));
    probe.listen(port, '127.0.0.1', () => probe.close(() => resolve(true)));
  });
}

/**
 * Starts `node <script> <args>` in the background.
 *
 * @param {{ name: string, script: string, args: string[], folder: string }} options `folder` gets `<name>.out`
 */
export function startProgram({ name, script, args, folder }) {
  const outFile = join(folder, `${name}.out`);
  const out = openSync(outFile, 'a');
  const child = spawn(process.execPath, [script, ...args], {
    cwd: folder,
    detached: true,
    stdio: ['ignore', out, out],
    env: withoutOverrides(process.env),
  });
  const ended = new Promise((resolve) => child.once('exit', (code, signal) => resolve(code ?? signal)));
  return {
    name,
    pid: child.pid,
    outFile,
    ended,
    /** Lets this process end while the program goes on. */
    leaveRunning: () => child.unref(),
    isRunning: () => child.exitCode === null && child.signalCode === null,
  };
}

/** The configuration files of the quickstart are the whole configuration: what the caller's environment says of other
 *  hubs and agents does not reach these. */
function withoutOverrides(environment) {
  return Object.fromEntries(
    Object.entries(environment).filter(([name]) => !/^WORKBENCH_(HUB|AGENT)_/.test(name)),
  );
}

/** Waits until the JSON log has a line for which `find` gives something, and gives that. */
export async function waitForLog(program, logFile, find, timeoutMs) {
  const deadline = Date.now() + timeoutMs;
  for (;;) {
    const lines = existsSync(logFile) ? readFileSync(logFile, 'utf8').split('\n').slice(0, -1) : [];
    for (const line of lines) {
      const found = find(JSON.parse(line));
      if (found !== undefined) return found;
    }
    assertRunning(program);
    if (Date.now() > deadline)
      throw new Error(`The ${program.name} did not get ready; its log is ${logFile}`);
    await delay(POLL_MS);
  }
}

/** Throws, with the last it said, when a program has ended by itself. */
export function assertRunning(program) {
  if (program.isRunning()) return;
  const last = readFileSync(program.outFile, 'utf8').trim().split('\n').slice(-5).join('\n');
  throw new Error(`The ${program.name} ended by itself. It said:\n${last}`);
}

/** Asks a program to stop, and ends it when it does not. */
export async function stopProgram(program) {
  if (!program.isRunning()) return;
  process.kill(program.pid, 'SIGTERM');
  const stopped = await Promise.race([program.ended, delay(20_000, 'late', { ref: false })]);
  if (stopped !== 'late') return;
  process.kill(program.pid, 'SIGKILL');
  await program.ended;
}
