/** The command line `wb`, called as a user calls it. */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';

const WB = fileURLToPath(new URL('../../../packages/cli/bin/wb.js', import.meta.url));

export interface WbOutcome {
  /** Null for one that was killed. */
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface WbCall {
  readonly child: ChildProcess;
  /** Its standard error so far; on a terminal, all of its output. */
  told(): string;
  /** Types on its terminal, or writes to its standard input. */
  type(typed: string): void;
  readonly outcome: Promise<WbOutcome>;
}

export interface WbOptions {
  /** Standard input, which ends after it; `open` leaves it open. */
  readonly stdin?: string | 'open';
  readonly env?: Readonly<Record<string, string>>;
  /** Gives it a terminal for all of its streams. Its output is all in `stdout` then. */
  readonly onTerminal?: boolean;
}

/** Whether the tests can make terminals: with `script` of util-linux. Without it those that need one are skipped, except under CI. */
export function hasTerminals(): boolean {
  if (process.env['CI'] !== undefined) return true;
  const isThere = spawnSync('script', ['--version']).stdout?.includes('util-linux') ?? false;
  if (!isThere) console.warn('LEFT OUT, tests of wb on a terminal: there is no script of util-linux');
  return isThere;
}

const running = new Set<ChildProcess>();

/** Ends the calls that a test left running; for `afterEach`. */
export function endCalls(): void {
  for (const child of running) child.kill('SIGKILL');
  running.clear();
}

/** Calls `wb` in this folder, which also has its profiles, with the hub at `url`, or without one. */
export function callWb(
  folder: string,
  url: string | undefined,
  args: readonly string[],
  { stdin = '', env = {}, onTerminal = false }: WbOptions = {},
): WbCall {
  const words = [process.execPath, WB, ...args];
  const [command = '', ...rest] = onTerminal
    ? ['script', '--quiet', '--return', '--flush', '--command', words.map(quoted).join(' '), '/dev/null']
    : words;
  const child = spawn(command, rest, {
    cwd: folder,
    env: {
      PATH: process.env['PATH'],
      WB_PROFILES: join(folder, 'profiles.json'),
      ...(url === undefined ? {} : { WB_URL: url }),
      ...env,
    },
  });
  running.add(child);
  let told = '';
  let printed = '';
  child.stderr.on('data', (chunk: Buffer) => {
    told += chunk.toString();
  });
  if (onTerminal) {
    child.stdout.on('data', (chunk: Buffer) => {
      printed += chunk.toString();
    });
  }
  child.stdin.on('error', () => undefined);
  if (stdin === 'open' || onTerminal) child.stdin.write(stdin === 'open' ? '' : stdin);
  else child.stdin.end(stdin);
  const outcome = (async () => {
    const [stdout, [code]] = await Promise.all([text(child.stdout), once(child, 'close')]);
    running.delete(child);
    return { code: code as number | null, stdout, stderr: told };
  })();
  const type = (typed: string) => void child.stdin.write(typed);
  return { child, told: () => printed + told, type, outcome };
}

function quoted(word: string): string {
  return `'${word.replaceAll("'", String.raw`'\''`)}'`;
}
