/** `wb run`, `wb submit`, `wb wait`: jobs from beginning to end. */
import { access, constants, mkdir, readdir } from 'node:fs/promises';
import path from 'node:path';
import {
  type Hub,
  HubError,
  NotFoundError,
  type Task,
  type TaskDetails,
  type TaskItem,
} from '@workbench-hub/client';
import { FileExistsError, saveOutputs, UnsafePathError } from '@workbench-hub/client/node';
import type { Command } from 'commander';
import { idsOf } from '../ask.js';
import type { Run } from '../command-action.js';
import { print, printable, SafeOutput, tell } from '../console.js';
import { EXIT, type ExitCode, exitCodeOf, exitCodeOfError, messageOf, UsageError } from '../exit-codes.js';
import { type JobOptions, jobOf, withJobOptions } from '../job-options.js';
import { TransferBar, withUploadBar } from '../progress.js';
import { wholeId } from '../task-ids.js';

/** Options of commands that follow a task. */
export interface FollowOptions {
  readonly out?: string;
  readonly overwrite?: boolean;
  readonly cancelOnInterrupt?: boolean;
  readonly quiet?: boolean;
}

export function addRunCommands(program: Command, run: Run): void {
  withFollowOptions(withJobOptions(program.command('run')))
    .description('run a job, show what it prints, and bring its outputs')
    .action(
      run(async (hub, output, options: JobOptions & FollowOptions) => {
        await expectUsable(options);
        const task = await submitted(hub, options);
        return follow(task, output, options);
      }),
    );

  withJobOptions(program.command('submit'))
    .description('hand in a job, and print its id')
    .action(
      run(async (hub, output, options: JobOptions) => {
        const { id } = await submitted(hub, options);
        print({ id }, output, () => id);
        return EXIT.FINISHED;
      }),
    );

  withFollowOptions(
    program.command('wait').argument('[id...]', 'ids of tasks; from standard input, one a line, without any'),
  )
    .description('wait for tasks to end; the exit code is that of the first which did not succeed')
    .action(
      run(async (hub, output, ids: string[], options: FollowOptions) =>
        waitForAll(hub, await idsOf(ids, 'Give their ids.'), output, options),
      ),
    );
}

/** Hands in the job, with a bar for each large file. */
async function submitted(hub: Hub, options: JobOptions & Pick<FollowOptions, 'quiet'>): Promise<Task> {
  const job = await jobOf(options);
  const onWarning = (warning: string) => tell(`wb: ${printable(warning)}`);
  return withUploadBar((onUpload) => hub.submit(job, { onUpload, ...(options.quiet ? {} : { onWarning }) }));
}

/** Adds the options of {@link FollowOptions}. */
export function withFollowOptions(command: Command): Command {
  return command
    .option(
      '-o, --out <folder>',
      'save the output files there; of several tasks, each in a folder with its id',
    )
    .option('--overwrite', 'replace files that exist')
    .option('--cancel-on-interrupt', 'cancel the task on Ctrl-C instead of leaving it')
    .option('-q, --quiet', 'print nothing but the result');
}

async function waitForAll(
  hub: Hub,
  ids: readonly string[],
  output: { isJson: boolean },
  options: FollowOptions,
): Promise<ExitCode> {
  let first: ExitCode = EXIT.FINISHED;
  let isLeft = false;
  const onLeft = () => {
    isLeft = true;
  };
  await expectUsable(options);
  for (const given of ids) {
    const code = await waitForOne(given).catch((error: unknown) => {
      // The others may still be there.
      if (ids.length === 1 || !(error instanceof NotFoundError)) throw error;
      tell(`wb: ${given}: ${messageOf(error)}`);
      return exitCodeOfError(error);
    });
    if (isLeft) return code;
    if (first === EXIT.FINISHED) first = code;
  }
  return first;

  async function waitForOne(given: string): Promise<ExitCode> {
    const id = await wholeId(hub, given);
    // Outputs of different tasks have the same names.
    const own = options.out === undefined || ids.length === 1 ? {} : { out: path.join(options.out, id) };
    return follow(hub.task(id), output, { ...options, ...own }, onLeft);
  }
}

/**
 * Makes the folder of the outputs before anything is run for it. Throws {@link UsageError} when nothing can be written there, and says
 * which files it will not replace.
 */
export async function expectUsable({ out, overwrite = false }: FollowOptions): Promise<void> {
  if (out === undefined) return;
  try {
    await mkdir(out, { recursive: true });
    await access(out, constants.W_OK);
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    const reason = code === 'EEXIST' || code === 'ENOTDIR' ? 'it is no folder' : message;
    throw new UsageError(`--out ${out} cannot be used: ${reason}`, { cause: error });
  }
  if (!overwrite && (await readdir(out)).length > 0)
    tell(`wb: ${out} is not empty: files that exist there are kept, unless --overwrite is given`);
}

/** Follows a task to its end: its state and output to standard error, its result to standard output. Calls `onLeft` when Ctrl-C ends
 *  that before. */
export async function follow(
  task: Task,
  output: { isJson: boolean },
  options: FollowOptions,
  onLeft: () => void = () => undefined,
): Promise<ExitCode> {
  const interrupt = interruption(task, options);
  const printed = new SafeOutput(process.stderr);
  try {
    const states = options.quiet ? () => undefined : stateTeller();
    const details = await task.wait({
      signal: interrupt.signal,
      onChange: states,
      ...(options.quiet ? {} : { onOutput: (text: string) => printed.write(text) }),
    });
    printed.end();
    const saved =
      options.out === undefined ? [] : await saveAll(task, options.out, options, interrupt.signal);
    print({ ...details, saved }, output, () => summaryOf(details, saved));
    return exitCodeOf(details);
  } catch (error) {
    // Awaited, so that a second Ctrl-C finds its listener.
    if (interrupt.signal.aborted) {
      onLeft();
      return await interrupt.left();
    }
    if (error instanceof FileExistsError || error instanceof UnsafePathError) {
      tell(`wb: ${error.message}`);
      tell(`The task has ended. Save its outputs with: wb result ${task.id} --out FOLDER`);
      return EXIT.FAILED;
    }
    if (!(error instanceof NotFoundError)) tell(`Attach again with: wb wait ${task.id}`);
    throw error;
  } finally {
    printed.end();
    interrupt.end();
  }
}

async function saveAll(
  task: Task,
  folder: string,
  { overwrite = false }: FollowOptions,
  signal: AbortSignal,
) {
  const bar = new TransferBar();
  try {
    return await saveOutputs(task, folder, {
      overwrite,
      signal,
      onProgress: ({ path, bytes, totalBytes }) => bar.update(printable(path), bytes, totalBytes),
    });
  } finally {
    bar.end();
  }
}

/** Tells each new state of a task once. */
function stateTeller(): (task: TaskItem) => void {
  let told = '';
  return ({ id, status, message, instance }) => {
    const where = status === 'RUNNING' && instance ? ` on ${instance.id}, version ${instance.version}` : '';
    const line = `${id}: ${status}${where}${message === undefined ? '' : `: ${printable(message)}`}`;
    if (line !== told) tell(line);
    told = line;
  };
}

function summaryOf(
  { id, status, batchExecutionStatus, message }: TaskDetails,
  saved: readonly string[],
): string {
  const how = batchExecutionStatus === undefined ? status : `${status}, scripts ${batchExecutionStatus}`;
  return [`${id}: ${how}${message === undefined ? '' : `: ${printable(message)}`}`, ...saved].join('\n');
}

interface Interruption {
  readonly signal: AbortSignal;
  /** Says what became of the task. */
  left(): Promise<ExitCode>;
  end(): void;
}

/** Ctrl-C once leaves or cancels the task; twice ends the program at once. */
function interruption(task: Task, { cancelOnInterrupt = false }: FollowOptions): Interruption {
  const controller = new AbortController();
  const onInterrupt = () => {
    if (controller.signal.aborted) process.exit(EXIT.INTERRUPTED);
    controller.abort(new Error('interrupted'));
  };
  process.on('SIGINT', onInterrupt).on('SIGTERM', onInterrupt);
  return {
    signal: controller.signal,
    async left() {
      if (!cancelOnInterrupt) {
        tell(`\n${task.id} goes on. Attach again with: wb wait ${task.id}`);
        return EXIT.INTERRUPTED;
      }
      try {
        await task.cancel({ force: true });
      } catch (error) {
        if (!(error instanceof HubError && error.code === 'TASK_NOT_CANCELABLE')) throw error;
        tell(`\n${task.id} has ended. Save its outputs with: wb result ${task.id} --out FOLDER`);
        return EXIT.INTERRUPTED;
      }
      tell(`\n${task.id}: canceled`);
      return EXIT.CANCELED;
    },
    end: () => void process.off('SIGINT', onInterrupt).off('SIGTERM', onInterrupt),
  };
}
