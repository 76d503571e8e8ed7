/** A copy of the compiled repository in a temporary folder, in which mutants take the place of product files. */
import { type ChildProcess, execFileSync, fork, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cp, mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import ts from 'typescript';
import type { OneEnded, Request, Response } from './test-process.js';

const OURS = '@workbench-hub';
const MAX_LIST_BYTES = 64 * 1024 * 1024;
/** Time after which the processes of a suite that was ended are killed. */
const END_MS = 10_000;

export type Outcome = 'PASSED' | 'FAILED' | 'TIMED_OUT';

interface TestProcess {
  readonly child: ChildProcess;
  readonly exited: Promise<unknown>;
  /** Files that have changed since its last request. */
  readonly changed: Set<string>;
}

export class ProductCopy {
  readonly root: string;
  /** Further environment variables of what is started. */
  environment: Readonly<Record<string, string>> = {};
  readonly #stopped = new AbortController();
  readonly #whenStopped = once(this.#stopped.signal, 'abort').then(() => undefined);
  /** Processes that run tests, by their environment as JSON. */
  readonly #tests = new Map<string, TestProcess>();

  private constructor(root: string) {
    this.root = root;
  }

  /** Copies the tracked files of the repository at `source`, and what its build has made. Packages are shared by links. */
  static async of(source: string): Promise<ProductCopy> {
    const root = await mkdtemp(join(tmpdir(), 'workbench-mutants-'));
    const tracked = execFileSync('git', ['ls-files', '-z'], { cwd: source, maxBuffer: MAX_LIST_BYTES });
    const files = tracked.toString().split('\0').filter(Boolean);
    const folders = [...new Set(files.map(dirname))];
    await Promise.all(folders.map((folder) => mkdir(join(root, folder), { recursive: true })));
    await Promise.all(files.map((file) => cp(join(source, file), join(root, file))));
    const projects = files
      .filter((file) => file.endsWith('/package.json'))
      .map(dirname)
      .filter((folder) => !folder.includes('fixtures'));
    for (const project of projects) {
      await cp(join(source, project, 'dist'), join(root, project, 'dist'), { recursive: true }).catch(
        ifMissing,
      );
      await linkPackages(join(source, project, 'node_modules'), join(root, project, 'node_modules'));
    }
    await linkPackages(join(source, 'node_modules'), join(root, 'node_modules'));
    return new ProductCopy(root);
  }

  /** Puts another text into each file and into the compiled one, runs `run`, and puts the originals back. */
  async with<T>(
    files: readonly string[],
    change: (text: string, file: string) => string,
    run: () => Promise<T>,
  ): Promise<T> {
    const paths = files.flatMap((file) => [file, compiledPathOf(file)]).map((file) => join(this.root, file));
    const before = await Promise.all(paths.map((path) => readFile(path, 'utf8')));
    try {
      for (const [index, file] of files.entries()) {
        const changed = change(before[2 * index] ?? '', file);
        await writeFile(join(this.root, file), changed);
        await writeFile(join(this.root, compiledPathOf(file)), compiled(changed));
      }
      this.#haveChanged(paths);
      return await run();
    } finally {
      await Promise.all(paths.map((path, index) => writeFile(path, before[index] ?? '')));
      this.#haveChanged(paths);
    }
  }

  #haveChanged(paths: readonly string[]): void {
    for (const { changed } of this.#tests.values()) for (const path of paths) changed.add(path);
  }

  /** Runs test files in the process that this copy keeps for this environment, each within `limitMs`. */
  async test(
    request: Omit<Request, 'changed'>,
    limitMs: number,
    environment: Readonly<Record<string, string>>,
  ): Promise<Response | 'TIMED_OUT'> {
    const key = JSON.stringify(environment);
    const tests = this.#tests.get(key) ?? (await this.#startTests(environment));
    this.#tests.set(key, tests);
    const { child, exited } = tests;
    const changed = [...tests.changed];
    tests.changed.clear();
    const responded = responseOf(child, limitMs);
    child.send({ ...request, changed });
    const response = await Promise.race([responded, exited.then(() => undefined), this.#whenStopped]);
    if (response === undefined) await this.endTests();
    return response ?? 'TIMED_OUT';
  }

  async #startTests(environment: Readonly<Record<string, string>>): Promise<TestProcess> {
    const child = fork('test/dist/mutation/test-process.js', {
      cwd: this.root,
      detached: true,
      env: { ...process.env, ...this.environment, ...environment },
      stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
    });
    const exited = once(child, 'exit');
    const isReady = await Promise.race([once(child, 'message'), exited.then(() => undefined)]);
    if (isReady === undefined) throw new Error('the process of the tests ended at its start');
    return { child, exited, changed: new Set() };
  }

  /** Ends the processes of the tests with what they share, as a database server. */
  async endTests(): Promise<void> {
    const all = [...this.#tests.values()];
    this.#tests.clear();
    await Promise.all(all.map(({ child, exited }) => end(child, exited)));
  }

  /** Runs a command of Node.js in the copy. None of its processes is left. */
  async run(command: readonly string[], limitMs: number): Promise<Outcome> {
    const limit = AbortSignal.any([this.#stopped.signal, AbortSignal.timeout(limitMs)]);
    // A group of its own: a suite has children, such as a database server.
    const child = spawn(process.execPath, command, {
      cwd: this.root,
      detached: true,
      env: { ...process.env, ...this.environment },
      stdio: 'ignore',
    });
    const ended = once(child, 'exit').then(([code]) => code as number | null);
    const code = await Promise.race([ended, once(limit, 'abort').then(() => undefined)]);
    if (code === undefined) await end(child, ended);
    else signalGroup(child, 'SIGKILL');
    if (code === undefined) return 'TIMED_OUT';
    return code === 0 ? 'PASSED' : 'FAILED';
  }

  async remove(): Promise<void> {
    this.#stopped.abort();
    await this.endTests();
    await rm(this.root, { recursive: true, force: true, maxRetries: 5 });
  }
}

/** Response of a process that runs tests; undefined when no file has ended for this time. */
function responseOf(child: ChildProcess, limitMs: number): Promise<Response | undefined> {
  return new Promise((resolve) => {
    const end = (response?: Response) => {
      clearTimeout(timer);
      child.off('message', take);
      resolve(response);
    };
    const take = (message: Response | OneEnded) => {
      if (message === 'ONE_ENDED') timer.refresh();
      else end(message);
    };
    const timer = setTimeout(end, limitMs).unref();
    child.on('message', take);
  });
}

async function end(child: ChildProcess, ended: Promise<unknown>): Promise<void> {
  signalGroup(child, 'SIGTERM');
  await Promise.race([ended, pause(END_MS)]);
  signalGroup(child, 'SIGKILL');
  await ended;
}

function signalGroup({ pid }: ChildProcess, signal: NodeJS.Signals): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, signal);
  } catch {
    // All of them have ended.
  }
}

function compiled(text: string): string {
  const compilerOptions: ts.CompilerOptions = {
    target: ts.ScriptTarget.ES2023,
    module: ts.ModuleKind.ESNext,
    verbatimModuleSyntax: true,
  };
  return ts.transpileModule(text, { compilerOptions }).outputText;
}

/** `hub/engine/x.ts` is compiled to `hub/dist/engine/x.js`. */
function compiledPathOf(file: string): string {
  const [project = '', ...rest] = file.split('/');
  return join(project, 'dist', ...rest).replace(/\.ts$/, '.js');
}

/** Links to each package; those of this repository lead to the copy. */
async function linkPackages(from: string, to: string): Promise<void> {
  const names = await readdir(from).catch(ifMissing);
  if (names === undefined) return;
  await mkdir(to, { recursive: true });
  for (const name of names.filter((each) => !each.startsWith('.vite'))) {
    if (name === OURS)
      await cp(join(from, name), join(to, name), { recursive: true, verbatimSymlinks: true });
    else await symlink(join(from, name), join(to, name));
  }
}

function ifMissing(error: NodeJS.ErrnoException): undefined {
  if (error.code !== 'ENOENT') throw error;
}
