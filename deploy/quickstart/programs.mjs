// Starts and stops hub, agent and database as separate processes; their output goes to files beside their data.
import { spawn } from 'node:child_process';
import { existsSync, openSync, readFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';

const POLL_MS = 50;
const RESPONSE_TIMEOUT_MS = 5000;

/** Port for the address that a user opens. */
export const DEFAULT_PORT = 8080;

/** True when nothing listens on this port of the loopback address. */
export function isPortFree(port) {
  return new Promise((resolve) => {
    const probe = createServer();
    probe.once('error', () => resolve(false));
    probe.listen(port, '127.0.0.1', () => probe.close(() => resolve(true)));
  });
}

/** A port of the loopback address on which nothing listens. */
export async function freePort() {
  const probe = createServer().listen(0, '127.0.0.1');
  await new Promise((resolve) => probe.once('listening', resolve));
  const { port } = probe.address();
  await new Promise((resolve) => probe.close(resolve));
  return port;
}

/**
 * Starts a program in the background.
 *
 * @param {{ name: string, command?: string, args: string[], folder: string, account?: { uid?: number, gid?: number },
 *   env?: Record<string, string> }} options
 *   `command`: Node.js by default; `folder` gets `<name>.out`; `account`: user and group other than those of this process;
 *   `env`: changes of the environment
 */
export function startProgram({ name, command = process.execPath, args, folder, account = {}, env = {} }) {
  const outFile = join(folder, `${name.replaceAll(' ', '-')}.out`);
  const out = openSync(outFile, 'a');
  const child = spawn(command, args, {
    cwd: folder,
    detached: true,
    stdio: ['ignore', out, out],
    env: { ...withoutOverrides(process.env), ...env },
    ...account,
  });
  const ended = new Promise((resolve) => child.once('exit', (code, signal) => resolve(code ?? signal)));
  return {
    name,
    pid: child.pid,
    outFile,
    ended,
    /** Lets this process exit while the program keeps running. */
    leaveRunning: () => child.unref(),
    isRunning: () => child.exitCode === null && child.signalCode === null,
  };
}

/** The environment without settings of other hubs and agents: the configuration files are the whole configuration. */
function withoutOverrides(environment) {
  return Object.fromEntries(
    Object.entries(environment).filter(([name]) => !/^WORKBENCH_(HUB|AGENT)_/.test(name)),
  );
}

/** Waits for a line of the JSON log in which `find` finds a value; returns that value. */
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
      throw new Error(`The ${program.name} was not ready in time. Its log is ${logFile}`);
    await delay(POLL_MS);
  }
}

/** Waits until a program has printed a text. */
export async function waitForOutput(program, text, timeoutMs) {
  const deadline = Date.now() + timeoutMs;
  while (!readFileSync(program.outFile, 'utf8').includes(text)) {
    assertRunning(program);
    if (Date.now() > deadline)
      throw new Error(`The ${program.name} was not ready in time. Its log is ${program.outFile}`);
    await delay(POLL_MS);
  }
}

/** Waits until an address responds with 200. */
export async function waitForResponse(program, url, timeoutMs) {
  const deadline = Date.now() + timeoutMs;
  while (!(await isOk(url))) {
    assertRunning(program);
    if (Date.now() > deadline)
      throw new Error(`The ${program.name} was not ready in time. Its log is ${program.outFile}`);
    await delay(POLL_MS);
  }
  // Another program may have responded.
  assertRunning(program);
}

async function isOk(url) {
  const response = await fetch(url, { signal: AbortSignal.timeout(RESPONSE_TIMEOUT_MS) }).catch(
    () => undefined,
  );
  await response?.body?.cancel();
  return response?.status === 200;
}

/** Throws when a program has exited; the error has its last output. */
export function assertRunning(program) {
  if (program.isRunning()) return;
  const last = readFileSync(program.outFile, 'utf8').trim().split('\n').slice(-5).join('\n');
  throw new Error(`The ${program.name} exited unexpectedly. Its last output:\n${last}`);
}

/** Sends SIGTERM, and SIGKILL to a program that does not stop. */
export async function stopProgram(program) {
  if (!program.isRunning()) return;
  process.kill(program.pid, 'SIGTERM');
  const stopped = await Promise.race([program.ended, delay(20_000, 'timeout', { ref: false })]);
  if (stopped !== 'timeout') return;
  await killProgram(program);
}

/** Ends a program at once, without a word to it (SIGKILL). */
export async function killProgram(program) {
  process.kill(program.pid, 'SIGKILL');
  await program.ended;
}
