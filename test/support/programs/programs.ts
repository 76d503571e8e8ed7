/** Hub and agents as real processes, as an operator starts them. */
import { type ChildProcess, spawn } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { expectNoSecret, expectNoSecretInLogsOf, keepSecretsOfDataDir } from '../secrets.js';
import { dropStoreFor, storeFor } from '../stores/tested-store.js';

// Tests run this file from its source, the benchmark runs it compiled.
const ROOT = fileURLToPath(new URL('../../..', import.meta.url)).replace(/test[/\\]$/, '');
const HUB = 'hub/bin/workbench-hub.js';

/** Time in which a program that is asked to stop has ended, also on a busy machine; shorter than that of a hook. */
const STOPPED_WITHIN_MS = 120_000;
const LINES_OF_A_HANG = 20;

/** One line of a program's log. */
export type LogLine = Readonly<Record<string, unknown>> & { readonly msg?: string };

export interface Program {
  readonly process: ChildProcess;
  /** Log lines so far. */
  readonly lines: readonly LogLine[];
  /** Printed lines that are not log lines. */
  readonly printed: readonly string[];
  /** Resolves with the first log line, past or future, that matches; rejects when the program ends without one. */
  logged(fits: (line: LogLine) => boolean): Promise<LogLine>;
  /** Resolves with the exit code, or the signal that ended it. */
  readonly ended: Promise<number | NodeJS.Signals>;
  /** Asks it to stop (SIGTERM); resolves as `ended`. Rejects with its latest log lines when it does not end, and kills it. */
  stop(): Promise<number | NodeJS.Signals>;
  /** Ends it at once (SIGKILL). */
  kill(): Promise<void>;
}

const started = new Set<Program>();

/** Data folders of the started hubs and agents. */
const dataDirs = new Set<string>();

/** Ends the programs that a test left running, and fails when one of them printed or logged a secret; for `afterEach`,
 *  before the folder is removed. */
export async function endPrograms(): Promise<void> {
  await Promise.all([...started].map((program) => program.stop()));
  for (const dataDir of dataDirs) keepSecretsOfDataDir(dataDir);
  for (const dataDir of dataDirs) {
    expectNoSecretInLogsOf(dataDir);
    await dropStoreFor(dataDir);
  }
  dataDirs.clear();
  for (const { lines, printed } of started) {
    expectNoSecret(
      [...lines.map((line) => JSON.stringify(line)), ...printed].join('\n'),
      'the output of a program',
    );
  }
  started.clear();
}

/** Commands that run a program of this repository. */
interface Wrapping {
  /** Command that wraps a program. */
  readonly by?: readonly string[];
  /** Path of the Node.js that runs it; that of the tests when left out. */
  readonly node?: string;
}

/** Runs a program of this repository: `hub/bin/workbench-hub.js`. */
export function startProgram(
  script: string,
  args: readonly string[],
  cwd: string,
  env: NodeJS.ProcessEnv = {},
  { by = [], node = process.execPath }: Wrapping = {},
): Program {
  return startCommand([...by, node, join(ROOT, script), ...args], cwd, env);
}

/** Runs a program that is installed anywhere; `command` is its path, or a command that wraps it, with all arguments. */
export function startCommand(
  [command = '', ...words]: readonly string[],
  cwd: string,
  env: NodeJS.ProcessEnv = {},
): Program {
  const child = spawn(command, words, {
    cwd,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, ...env },
  });
  const lines: LogLine[] = [];
  const printed: string[] = [];
  const waiting = new Set<() => void>();
  const take = (text: string) => {
    try {
      lines.push(JSON.parse(text) as LogLine);
    } catch {
      printed.push(text);
    }
    for (const look of waiting) look();
  };
  createInterface(child.stdout).on('line', take);
  createInterface(child.stderr).on('line', take);
  const ended = new Promise<number | NodeJS.Signals>((resolve) => {
    child.once('close', (code, signal) => resolve(code ?? signal ?? -1));
  });
  const send = (signal: NodeJS.Signals) => {
    if (child.exitCode === null && child.signalCode === null) child.kill(signal);
  };

  const program: Program = {
    process: child,
    lines,
    printed,
    ended,
    logged: (fits) =>
      new Promise((resolve, reject) => {
        const look = () => {
          const line = lines.find(fits);
          if (!line) return;
          waiting.delete(look);
          resolve(line);
        };
        waiting.add(look);
        look();
        void ended.then((how) =>
          reject(
            new Error(`${[command, ...words].join(' ')} ended (${how}): ${JSON.stringify(lines)} ${printed}`),
          ),
        );
      }),
    stop: async () => {
      send('SIGTERM');
      let late: NodeJS.Timeout | undefined;
      const hangs = new Promise<undefined>((resolve) => {
        late = setTimeout(() => resolve(undefined), STOPPED_WITHIN_MS);
      });
      const how = await Promise.race([ended, hangs]);
      clearTimeout(late);
      if (how !== undefined) return how;
      send('SIGKILL');
      const latest = lines.slice(-LINES_OF_A_HANG).map((line) => JSON.stringify(line));
      throw new Error(
        `${[command, ...words].join(' ')} did not end within ${STOPPED_WITHIN_MS} ms of SIGTERM: ${latest.join('\n')}`,
      );
    },
    kill: async () => {
      send('SIGKILL');
      await ended;
    },
  };
  started.add(program);
  return program;
}

export interface HubProgram extends Program {
  readonly baseUrl: string;
  readonly tokenFile: string;
}

/** Starts a hub in `folder`; `config` is added to a port of its own. Resolves when it listens. `script` and `env` start one of another
 *  version. */
export async function startHub(
  folder: string,
  config: Record<string, unknown> = {},
  port = 0,
  by: readonly string[] = [],
  { script = HUB, env = {} }: { readonly script?: string; readonly env?: NodeJS.ProcessEnv } = {},
): Promise<HubProgram> {
  const file = join(folder, 'hub.yaml');
  const dataDir = join(folder, 'hub');
  const store = await storeFor(dataDir);
  writeFileSync(file, JSON.stringify({ server: { port }, dataDir, store, ...config }));
  dataDirs.add(dataDir);
  const program = startProgram(script, ['--config', file], folder, env, { by });
  const { address } = await program.logged((line) => typeof line['address'] === 'string');
  keepSecretsOfDataDir(dataDir);
  return Object.assign(program, { baseUrl: String(address), tokenFile: join(dataDir, 'agent-token') });
}

/** Starts an agent in `folder` for this hub. */
export function startAgent(
  folder: string,
  hub: Pick<HubProgram, 'baseUrl' | 'tokenFile'>,
  id: string,
  config: Record<string, unknown>,
  { env, ...wrapping }: Wrapping & { readonly env?: NodeJS.ProcessEnv } = {},
): Program {
  const file = join(folder, `${id}.yaml`);
  const dataDir = join(folder, id);
  dataDirs.add(dataDir);
  writeFileSync(
    file,
    JSON.stringify({
      id,
      hub: hub.baseUrl.replace('http', 'ws'),
      tokenFile: hub.tokenFile,
      dataDir,
      ...config,
    }),
  );
  return startProgram('agent/bin/workbench-agent.js', ['--config', file], folder, env, wrapping);
}
