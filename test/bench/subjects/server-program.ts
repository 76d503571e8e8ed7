/** Programs of any kind that a subject consists of: their output goes to a file, they are ended by their id. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { accessSync, closeSync, constants, fstatSync, openSync, readFileSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { delimiter, join } from 'node:path';
import { eventually } from '../../support/eventually.js';

const STOP_WITHIN_MS = 15_000;
const READY_WITHIN_MS = 30_000;

export interface ServerProgramOptions {
  /** Folder of its output, `<name>.log`. */
  readonly folder: string;
  readonly env?: NodeJS.ProcessEnv;
  readonly uid?: number;
  readonly gid?: number;
  /** Whether it has a message channel. */
  readonly ipc?: boolean;
  readonly stopSignal?: NodeJS.Signals;
}

const running = new Set<ChildProcess>();
// Whatever happens, nothing is left behind.
process.once('exit', () => {
  for (const child of running) child.kill('SIGKILL');
});
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1));

export class ServerProgram {
  readonly child: ChildProcess;
  readonly #name: string;
  readonly #logFile: string;
  /** Offset after the output of an earlier program of this name. */
  readonly #outputFrom: number;
  readonly #stopSignal: NodeJS.Signals;

  constructor(name: string, command: string, args: readonly string[], options: ServerProgramOptions) {
    const { folder, ipc = false, env, stopSignal = 'SIGTERM', ...rest } = options;
    this.#name = name;
    this.#stopSignal = stopSignal;
    this.#logFile = join(folder, `${name}.log`);
    const log = openSync(this.#logFile, 'a');
    this.#outputFrom = fstatSync(log).size;
    this.child = spawn(command, args, {
      cwd: folder,
      stdio: ['ignore', log, log, ...(ipc ? (['ipc'] as const) : [])],
      env: { ...process.env, ...env },
      ...rest,
    });
    closeSync(log);
    running.add(this.child);
    this.child.once('close', () => running.delete(this.child));
    // Without a listener, a program that cannot be started would end this one.
    this.child.once('error', () => running.delete(this.child));
  }

  get pid(): number {
    return this.child.pid ?? 0;
  }

  /** Its output so far. */
  output(): string {
    return readFileSync(this.#logFile).toString('utf8', this.#outputFrom);
  }

  /** Waits for a fact while the program runs. */
  async until<T>(look: () => T | Promise<T>): Promise<Exclude<T, undefined | false>> {
    const ended = () => this.child.exitCode !== null || this.child.signalCode !== null;
    const found = await eventually(
      async () => (ended() ? { found: undefined } : { found: await lookFor(look) }),
      READY_WITHIN_MS,
    );
    if (found.found === undefined) throw new Error(`${this.#name} ended: ${this.output().slice(-2000)}`);
    return found.found;
  }

  async stop(): Promise<void> {
    const timer = setTimeout(() => this.child.kill('SIGKILL'), STOP_WITHIN_MS);
    await this.#end(this.#stopSignal);
    clearTimeout(timer);
  }

  /** Ends it at once. */
  kill(): Promise<void> {
    return this.#end('SIGKILL');
  }

  async #end(signal: NodeJS.Signals): Promise<void> {
    if (!running.has(this.child)) return;
    const closed = once(this.child, 'close');
    this.child.kill(signal);
    await closed;
  }
}

async function lookFor<T>(look: () => T | Promise<T>): Promise<Exclude<T, undefined | false>> {
  const found = await look();
  if (found === undefined || found === false) throw new Error('not ready in time');
  return found as Exclude<T, undefined | false>;
}

/** Resolves when something listens there. */
export function listens(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => {
      socket.destroy();
      resolve(true);
    });
    socket.once('error', () => resolve(false));
  });
}

/** A free port. */
export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  await once(server, 'close');
  return typeof address === 'object' && address !== null ? address.port : 0;
}

/** Path of a program; undefined when it is not installed. */
export function installed(program: string, folders: readonly string[] = []): string | undefined {
  const path = [...folders, ...(process.env['PATH'] ?? '').split(delimiter), '/usr/sbin'];
  return path.map((folder) => join(folder, program)).find(isExecutable);
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
