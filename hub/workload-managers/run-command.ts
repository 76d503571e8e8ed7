/** Commands of a workload manager, on this machine or on another one. */
import { boundedText } from '@workbench-hub/shared/runtime/bounded-text';
import type { Timers } from '@workbench-hub/shared/runtime/runtime';
import { startFolder } from '@workbench-hub/shared/runtime/start-folder';
import { execa } from 'execa';
import { WorkloadManagerError } from '../core/ports/workload-manager.js';
import { shellWord } from './shell-words.js';

/** Within a minute, a method of the port may take two commands one after the other, and the second may hang. */
const TIME_LIMIT_MS = 25_000;
/** Time for the rest of the output of a command that has ended; what it left running may hold the pipes for ever. */
const LAST_OUTPUT_MS = 1000;
const MAX_OUTPUT_BYTES = 2 ** 20;
const MAX_QUOTED_LENGTH = 500;
/** Exit codes by which a shell says that it cannot start a program, ssh that it has no connection, and a shell that a program was killed. */
const NOT_STARTED_CODES = [126, 127];
const NO_CONNECTION_CODE = 255;
const KILLED_CODE = 137;
/** Variables that are no business of the site's commands, nor of jobs, to which sbatch gives the environment of the command. */
const OWN_VARIABLES: readonly RegExp[] = [
  // Settings of the hub, secrets among them.
  /^WORKBENCH_/i,
  // Credentials of the store of files, in the many forms that the AWS SDK knows.
  /^AWS_/i,
  // Passwords of PostgreSQL's clients. Others that begin with PG are not its own, such as those of compilers.
  /^PGPASS(?:WORD|FILE)$/i,
];

export interface CommandSurroundings {
  /** Beginning of each command, such as `ssh` and a host; it gets the command as words for a POSIX shell. Empty: this machine. */
  readonly via: readonly string[];
  /** Environment of this process. Commands inherit it without the hub's own settings and credentials. */
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly timers: Timers;
  readonly timeLimitMs?: number;
}

export interface CommandInput {
  /** Name of the command in messages; left out for its first word. */
  readonly name?: string;
  readonly input?: string;
  /** Environment variables, which go along to another machine. */
  readonly variables?: Readonly<Record<string, string>>;
  /** Bound of each of its two outputs, for a command that may print more than others. */
  readonly maxOutputBytes?: number;
}

export interface CommandEnd {
  /** Name of the command in messages. */
  readonly name: string;
  readonly exitCode: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs a command to its end. Rejects with {@link WorkloadManagerError} (UNAVAILABLE) when it cannot be started, is ended by a signal,
 *  prints too much, or takes too long. */
export type RunCommand = (command: readonly string[], input?: CommandInput) => Promise<CommandEnd>;

/** The commands of these surroundings. */
export function commandRunner(surroundings: CommandSurroundings): RunCommand {
  const environment = Object.fromEntries(
    Object.entries(surroundings.environment).filter(([name]) => !OWN_VARIABLES.some((own) => own.test(name))),
  );
  return async (
    command,
    { name: given, input = '', variables = {}, maxOutputBytes = MAX_OUTPUT_BYTES } = {},
  ) => {
    const name = nameOf(given ?? command[0] ?? '', surroundings.via);
    const assignments = Object.entries(variables).map(([key, value]) => `${key}=${value}`);
    const isHere = surroundings.via.length === 0;
    const named = isHere || assignments.length === 0 ? command : ['env', ...assignments, ...command];
    const words = isHere
      ? named
      : [...surroundings.via, 'sh', '-c', shellWord(elsewhere(named, surroundings))];
    const env = isHere ? { ...environment, ...variables } : environment;
    const end = await started(name, words, { input, env, maxOutputBytes }, surroundings);
    const noConnection = !isHere && end.exitCode === NO_CONNECTION_CODE;
    if (noConnection || NOT_STARTED_CODES.includes(end.exitCode)) throw unavailable(end);
    return end;
  };
}

/** Text of the command for a shell on another machine. There, it ends by the time limit, too: the end of ssh here does not end it, and a job must not be
 *  handed in long after it was given up. Where ssh has a meaning of its own for an exit code, it ends with another one: sbatch ends so, too.
 *  One that was killed has not answered. */
function elsewhere(
  command: readonly string[],
  { timeLimitMs = TIME_LIMIT_MS }: Pick<CommandSurroundings, 'timeLimitMs'>,
): string {
  const limit = `timeout -s KILL ${Math.ceil(timeLimitMs / 1000)}`;
  const codes = [
    `${NO_CONNECTION_CODE}) exit 1`,
    `${KILLED_CODE}) echo "it was killed there" >&2; exit ${NO_CONNECTION_CODE}`,
    '*) exit "$code"',
  ];
  return [
    `limit=; command -v timeout >/dev/null 2>&1 && limit="${limit}";`,
    `$limit ${command.map(shellWord).join(' ')} || { code=$?; case $code in ${codes.join(' ;; ')} ;; esac; }`,
  ].join(' ');
}

/** Error about a command whose end says nothing about what was asked. */
export function unavailable(
  end: CommandEnd,
  reason = `ended with exit code ${end.exitCode}`,
): WorkloadManagerError {
  return new WorkloadManagerError('UNAVAILABLE', `${end.name} ${reason}${quoted(end)}`);
}

/** Error about an answer that is not in the form that is expected. */
export function notUnderstood(end: CommandEnd, expected: string): WorkloadManagerError {
  const answer = boundedText(end.stdout.trim(), MAX_QUOTED_LENGTH);
  return new WorkloadManagerError(
    'UNAVAILABLE',
    `${end.name} must print ${expected}, and printed ${JSON.stringify(answer)}`,
  );
}

/** Complaint of a command that failed: the end of its standard error, or else of its output. */
export function complaintOf({ stderr, stdout, exitCode }: CommandEnd): string {
  const said = stderr.trim() || stdout.trim() || `exit code ${exitCode}`;
  return said.length <= MAX_QUOTED_LENGTH ? said : `…${said.slice(1 - MAX_QUOTED_LENGTH)}`;
}

function quoted(end: CommandEnd): string {
  return end.stderr.trim() === '' && end.stdout.trim() === '' ? '' : `: ${complaintOf(end)}`;
}

function nameOf(program: string, via: readonly string[]): string {
  return via.length === 0 ? program : `${program} (by ${via.join(' ')})`;
}

interface Process {
  readonly input: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly maxOutputBytes: number;
}

function started(
  name: string,
  [program = '', ...args]: readonly string[],
  { input, env, maxOutputBytes }: Process,
  { timers, timeLimitMs = TIME_LIMIT_MS }: CommandSurroundings,
): Promise<CommandEnd> {
  const child = execa(program, args, {
    input,
    buffer: false,
    reject: false,
    // Leads a group of its own, so that what it started ends with it.
    detached: process.platform !== 'win32',
    extendEnv: false,
    env,
    cwd: startFolder(),
    windowsHide: true,
  });
  const output = { stdout: '', stderr: '' };
  return new Promise<CommandEnd>((resolve, reject) => {
    let isOver = false;
    const finish = (settle: () => void) => {
      if (isOver) return;
      isOver = true;
      limit.cancel();
      for (const stream of [child.stdout, child.stderr]) stream.destroy();
      settle();
    };
    const endBecause = (reason: string) =>
      finish(() => {
        endGroup(child);
        reject(unavailable({ name, exitCode: -1, ...output }, reason));
      });
    const limit = timers.after(timeLimitMs, () =>
      endBecause(`has not ended within ${timeLimitMs / 1000} s, and was ended`),
    );
    for (const kind of ['stdout', 'stderr'] as const) {
      child[kind].setEncoding('utf8').on('data', (chunk: string) => {
        output[kind] += chunk;
        if (output[kind].length > maxOutputBytes)
          endBecause(`printed more than ${maxOutputBytes} bytes, and was ended`);
      });
    }
    const settle = (exitCode: number | undefined, signal: string | undefined, fault: string | undefined) =>
      finish(() => {
        if (exitCode !== undefined) return resolve({ name, exitCode, ...output });
        const reason =
          signal === undefined ? `cannot be started: ${fault ?? 'unknown reason'}` : `was ended by ${signal}`;
        reject(unavailable({ name, exitCode: -1, ...output }, reason));
      });
    child.once('exit', (exitCode, signal) =>
      timers.after(LAST_OUTPUT_MS, () => settle(exitCode ?? undefined, signal ?? undefined, undefined)),
    );
    void child.then((end) =>
      settle(
        end.exitCode,
        end.signal,
        end.code === 'ENOENT' ? 'there is no such program' : end.originalMessage,
      ),
    );
  });
}

function endGroup(child: { readonly pid?: number | undefined; kill(signal: 'SIGKILL'): boolean }): void {
  if (child.pid === undefined) return;
  try {
    if (process.platform === 'win32') child.kill('SIGKILL');
    else process.kill(-child.pid, 'SIGKILL');
  } catch (error) {
    // It has ended meanwhile.
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}
