/** `wb tasks`, `task`, `log`, `result`, `explain`, `rerun`. */
import type { Hub, TaskDetails, TaskItem } from '@workbench-hub/client';
import { saveOutputs } from '@workbench-hub/client/node';
import type { Command } from 'commander';
import type { Run } from '../command-action.js';
import { type Output, print, printable, SafeOutput, sizeInWords, table, tell } from '../console.js';
import { EXIT, type ExitCode, exitCodeOf, UsageError } from '../exit-codes.js';
import { collect } from '../job-options.js';
import { type FilterOptions, filterOf, TASK_COLUMNS, withFilterOptions } from '../task-filter.js';
import { wholeId } from '../task-ids.js';
import { localTime } from '../times.js';
import { wholeNumber } from '../whole-number.js';
import { saveManifest } from './manifests.js';
import { expectUsable, type FollowOptions, follow, withFollowOptions } from './run.js';

interface ListOptions extends FilterOptions {
  readonly limit: number;
}

export function addTaskCommands(program: Command, run: Run): void {
  withFilterOptions(program.command('tasks'))
    .description('list tasks, newest first, those of studies only if asked to')
    .option('--limit <count>', 'how many', wholeNumber(1), 50)
    .action(run(listTasks));

  program
    .command('task')
    .argument('<id>')
    .description('show a task with all that is known of it')
    .action(
      run(async (hub, output, id: string) => {
        const details = await hub.task(await wholeId(hub, id)).details();
        print(details, output, () => detailsInWords(details));
        return EXIT.FINISHED;
      }),
    );

  program
    .command('log')
    .argument('<id>')
    .description('print what the scripts of a task print')
    .option('-f, --follow', 'wait for its start, and go on until its end')
    .action(run(printLog));

  program
    .command('result')
    .argument('<id>')
    .description('show how a task ended, and save its outputs')
    .option('-o, --out <folder>', 'save the output files there')
    .option('--manifest', 'save the signed manifest with them, for wb verify')
    .option('--overwrite', 'replace files that exist')
    .action(run(showResult));

  program
    .command('explain')
    .argument('<id>')
    .description('say why a task waits, and what would help')
    .action(
      run(async (hub, output, id: string) => {
        const explanation = await hub.task(await wholeId(hub, id)).explain();
        print(explanation, output, () => printable(explanation.message));
        return EXIT.FINISHED;
      }),
    );

  withFollowOptions(program.command('rerun').argument('<id>'))
    .description('run a job again, with the same files and other variables')
    .option('-f, --follow', 'show what it prints, and bring its outputs, as wb run does')
    .option('--var <key=value>', 'variable to change', collect, [])
    .action(run(rerun));
}

async function listTasks(hub: Hub, output: Output, options: ListOptions): Promise<ExitCode> {
  const tasks: TaskItem[] = [];
  for await (const task of hub.tasks(await filterOf(hub, options))) {
    tasks.push(task);
    if (tasks.length >= options.limit) break;
  }
  print(tasks, output, () => table(tasks, TASK_COLUMNS));
  return EXIT.FINISHED;
}

function detailsInWords(details: TaskDetails): string {
  const {
    id,
    status,
    batchExecutionStatus,
    message,
    name,
    note,
    creator,
    study,
    priority,
    requestedAt,
    startedAt,
    endedAt,
  } = details;
  const lines = [
    ['id', id],
    ['status', batchExecutionStatus === undefined ? status : `${status}, scripts ${batchExecutionStatus}`],
    ['message', message],
    ['name', name],
    ...(note ? note.split(/\r?\n/) : []).map((line, at) => [at === 0 ? 'note' : '', line]),
    ['creator', creator],
    ['study', study && `${study.id}, point ${study.point}`],
    ['priority', priority],
    ['requested', localTime(requestedAt)],
    ['started', localTime(startedAt)],
    ['ended', localTime(endedAt)],
    ...details.attempts.map(({ attempt, instance, outcome, reason }) => [
      `attempt ${attempt}`,
      `${outcome} on ${instance.id}, version ${instance.version}${reason === undefined ? '' : `: ${reason}`}`,
    ]),
    ...details.inputs.map(({ path, filename, size }) => [
      'input',
      `${path}${filename === undefined ? '' : ` (${filename})`}, ${sizeInWords(size)}`,
    ]),
    ...details.variables.map(({ key, value }) => ['variable', `${key}=${value}`]),
    ...(details.outputs ?? []).map(({ path, size }) => ['output', `${path}, ${sizeInWords(size)}`]),
  ];
  return lines
    .filter((line): line is [string, string] => line[1] !== undefined)
    .map(([title, value]) => `${title.padEnd(11)}${printable(value)}`)
    .join('\n');
}

async function printLog(
  hub: Hub,
  output: Output,
  given: string,
  { follow = false }: { follow?: boolean },
): Promise<ExitCode> {
  const id = await wholeId(hub, given);
  const task = hub.task(id);
  if (!follow) {
    const log = await task.logText();
    print({ id, log }, output, () => log);
    return EXIT.FINISHED;
  }
  const printed = new SafeOutput(process.stdout);
  try {
    for await (const event of task.log()) {
      if (output.isJson) print(event, output, () => '');
      else if (event.type === 'output') printed.write(event.text);
      else if (event.type === 'skipped') tell(`[${event.to - event.offset} characters are skipped]`);
      if (event.type === 'end') {
        printed.end();
        tell(`${id}: ${event.status}`);
      }
    }
  } finally {
    printed.end();
  }
  return EXIT.FINISHED;
}

async function showResult(
  hub: Hub,
  output: Output,
  given: string,
  { out, manifest = false, overwrite = false }: { out?: string; manifest?: boolean; overwrite?: boolean },
): Promise<ExitCode> {
  if (manifest && out === undefined)
    throw new UsageError('--manifest saves with the outputs: give --out, or use wb manifest');
  const id = await wholeId(hub, given);
  const task = hub.task(id);
  const details = await task.details();
  if (details.endedAt === undefined)
    throw new UsageError(`task ${id} is ${details.status}: wait for its end with wb wait ${id}`);
  const saved = out === undefined ? [] : await saveOutputs(task, out, { overwrite });
  if (out !== undefined && manifest) saved.push(await saveManifest(task, out, { overwrite }));
  print({ ...details, saved }, output, () => [detailsInWords(details), ...saved].join('\n'));
  return exitCodeOf(details);
}

async function rerun(
  hub: Hub,
  output: Output,
  id: string,
  options: FollowOptions & { var: readonly string[]; follow?: boolean },
): Promise<ExitCode> {
  const variables = Object.fromEntries(
    options.var.map((change) => {
      const at = change.indexOf('=');
      if (at < 1) throw new UsageError(`--var ${change} must be like key=value`);
      return [change.slice(0, at), change.slice(at + 1)];
    }),
  );
  const isFollowed = options.follow === true || options.out !== undefined;
  if (isFollowed) await expectUsable(options);
  const task = await hub.rerun(await wholeId(hub, id), { variables });
  if (isFollowed) return follow(task, output, options);
  print({ id: task.id }, output, () => task.id);
  return EXIT.FINISHED;
}
