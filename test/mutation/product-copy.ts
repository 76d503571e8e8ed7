/** A copy of the compiled repository in a temporary folder, in which mutants take the place of product files. */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cp, mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import ts from 'typescript';
import type { Mutant } from './mutants.js';

const OURS = '@workbench-hub';
const MAX_LIST_BYTES = 64 * 1024 * 1024;
/** Time after which the processes of a suite that was ended are killed. */
const END_MS = 10_000;

export type Outcome = 'PASSED' | 'FAILED' | 'TIMED_OUT';

export class ProductCopy {
  readonly #root: string;
  readonly #stopped = new AbortController();

  private constructor(root: string) {
    this.#root = root;
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

  /** Puts a mutant into its file and into the compiled one, runs `run`, and puts the original back. */
  async with<T>(file: string, { start, end, replacement }: Mutant, run: () => Promise<T>): Promise<T> {
    const source = join(this.#root, file);
    const compiled = join(this.#root, compiledPathOf(file));
    const [text, before] = await Promise.all([readFile(source, 'utf8'), readFile(compiled, 'utf8')]);
    const mutated = text.slice(0, start) + replacement + text.slice(end);
    const compilerOptions: ts.CompilerOptions = {
      target: ts.ScriptTarget.ES2023,
      module: ts.ModuleKind.ESNext,
      verbatimModuleSyntax: true,
    };
    try {
      await writeFile(source, mutated);
      await writeFile(compiled, ts.transpileModule(mutated, { compilerOptions }).outputText);
      return await run();
    } finally {
      await writeFile(source, text);
      await writeFile(compiled, before);
    }
  }

  /** Runs a suite, a command of Node.js, in the copy. None of its processes is left. */
  async run(command: readonly string[], limitMs: number): Promise<Outcome> {
    const limit = AbortSignal.any([this.#stopped.signal, AbortSignal.timeout(limitMs)]);
    // A group of its own: a suite has children, such as a database server.
    const child = spawn(process.execPath, command, { cwd: this.#root, detached: true, stdio: 'ignore' });
    const ended = once(child, 'exit').then(([code]) => code as number | null);
    const code = await Promise.race([ended, once(limit, 'abort').then(() => undefined)]);
    if (code === undefined) signalGroup(child, 'SIGTERM');
    if (code === undefined) await Promise.race([ended, setTimeout(END_MS)]);
    signalGroup(child, 'SIGKILL');
    await ended;
    if (code === undefined) return 'TIMED_OUT';
    return code === 0 ? 'PASSED' : 'FAILED';
  }

  async remove(): Promise<void> {
    this.#stopped.abort();
    await rm(this.#root, { recursive: true, force: true, maxRetries: 5 });
  }
}

function signalGroup({ pid }: ChildProcess, signal: NodeJS.Signals): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, signal);
  } catch {
    // All of them have ended.
  }
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
