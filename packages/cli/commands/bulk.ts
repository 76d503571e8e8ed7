/** `wb cancel` and `wb delete`: tasks by their ids, or all that match a filter. */
import {
  AuthenticationError,
  type BulkOutcome,
  type Hub,
  type TaskFilter,
  UnreachableError,
} from '@workbench-hub/client';
import type { Command } from 'commander';
import { ask, idsOf } from '../ask.js';
import type { Run } from '../command-action.js';
import { type Output, print, table, tell } from '../console.js';
import { EXIT, type ExitCode, exitCodeOfError, messageOf, UsageError } from '../exit-codes.js';
import {
  type FilterOptions,
  filterOf,
  hasCondition,
  TASK_COLUMNS,
  withFilterOptions,
} from '../task-filter.js';
import { wholeId } from '../task-ids.js';

/** Requests that are under way at the same time. */
const WIDTH = 8;

interface BulkOptions extends FilterOptions {
  readonly all?: boolean;
  readonly dryRun?: boolean;
  readonly yes?: boolean;
  readonly force?: boolean;
}

/** A change of tasks: of one, and of all that match. */
interface Change {
  readonly verb: string;
  readonly done: string;
  one(hub: Hub, id: string, options: BulkOptions): Promise<void>;
  all(hub: Hub, filter: TaskFilter, options: BulkOptions): Promise<BulkOutcome>;
}

const CANCEL: Change = {
  verb: 'cancel',
  done: 'canceled',
  one: (hub, id, { force = false }) => hub.task(id).cancel({ force }),
  all: (hub, filter, { force = false, dryRun = false }) => hub.cancelTasks(filter, { force, dryRun }),
};

const DELETE: Change = {
  verb: 'delete',
  done: 'deleted',
  one: (hub, id) => hub.task(id).delete(),
  all: (hub, filter, { dryRun = false }) => hub.deleteTasks(filter, { dryRun }),
};

/** Adds `wb cancel` and `wb delete`. */
export function addBulkCommands(program: Command, run: Run): void {
  bulkCommand(program, run, CANCEL)
    .description('cancel waiting tasks, by their ids or by a filter')
    .option('--force', 'cancel running tasks, too');
  bulkCommand(program, run, DELETE).description(
    'delete ended tasks with their files, by their ids or by a filter',
  );
}

function bulkCommand(program: Command, run: Run, change: Change): Command {
  const command = program
    .command(change.verb)
    .argument('[id...]', 'ids of tasks; without ids and filter from standard input, one a line');
  return withFilterOptions(command)
    .option('--all', 'all tasks, also those of studies')
    .option('--dry-run', 'change nothing, and show what a filter matches')
    .option('-y, --yes', 'do not ask before tasks that match a filter are changed')
    .action(
      run(async (hub, output, ids: string[], options: BulkOptions) => {
        const { all = false, points = all } = options;
        const isFilter = all || hasCondition(options);
        if (ids.length > 0 && isFilter)
          throw new UsageError('give either ids of tasks, or a filter, not both');
        if (!isFilter) return changeEach(hub, output, change, ids, options);
        const filter = await filterOf(hub, { ...options, points });
        return changeMatching(hub, output, change, filter, options);
      }),
    );
}

async function changeMatching(
  hub: Hub,
  output: Output,
  change: Change,
  filter: TaskFilter,
  options: BulkOptions,
): Promise<ExitCode> {
  const { dryRun = false, yes = false } = options;
  let matching = filter;
  if (dryRun || !yes) {
    const preview = await change.all(hub, filter, { ...options, dryRun: true });
    const count = countOf(preview);
    if (dryRun) {
      print(preview, output, () => (preview.tasks.length === 0 ? '' : table(preview.tasks, TASK_COLUMNS)));
      tell(`${count} would be ${change.done}.`);
      return EXIT.FINISHED;
    }
    if (preview.matched === 0) {
      print(preview, output, () => `0 ${change.done}`);
      return EXIT.FINISHED;
    }
    tell(table(preview.tasks, TASK_COLUMNS));
    const answer = await ask(
      `${count} would be ${change.done}. Go on? [y/N] `,
      `${count} would be ${change.done}: give --yes, or --dry-run for a list`,
    );
    if (!/^y(es)?$/i.test(answer.trim())) {
      tell('Nothing was changed.');
      return EXIT.INTERRUPTED;
    }
    matching = upTo(filter, preview);
  }
  const outcome = await changeAll(hub, change, matching, options);
  print(outcome, output, () => `${outcome.changed} ${change.done}`);
  return EXIT.FINISHED;
}

/** The filter without tasks that were requested after those that were shown. */
function upTo(filter: TaskFilter, { tasks: [newest] }: BulkOutcome): TaskFilter {
  if (!newest) return filter;
  return { ...filter, to: new Date(Date.parse(newest.requestedAt) + 1).toISOString() };
}

/** Repeats the request while there are more tasks than one changes. */
async function changeAll(
  hub: Hub,
  change: Change,
  filter: TaskFilter,
  options: BulkOptions,
): Promise<BulkOutcome> {
  let all = await change.all(hub, filter, options);
  for (let last = all; last.more && last.changed > 0; ) {
    last = await change.all(hub, filter, options);
    all = {
      ...last,
      matched: all.matched + last.matched,
      changed: all.changed + last.changed,
      tasks: all.tasks,
    };
  }
  return all;
}

function countOf({ matched, more }: BulkOutcome): string {
  return `${more ? 'More than ' : ''}${matched} ${matched === 1 ? 'task' : 'tasks'}`;
}

interface Attempted {
  readonly id: string;
  readonly error?: unknown;
}

/**
 * Acts on each id, several at a time, and tells of them in their order. It goes on after a refusal, and returns the exit
 * code of the first one. It stops when the hub is away or rejects the token: the others would fail in the same way.
 */
async function changeEach(
  hub: Hub,
  output: Output,
  change: Change,
  given: readonly string[],
  options: BulkOptions,
): Promise<ExitCode> {
  if (options.dryRun) throw new UsageError('--dry-run is for a filter, such as --name or --status');
  const ids = await idsOf(given, 'Give their ids, a filter such as --name or --status, or --all.');
  let code: ExitCode = EXIT.FINISHED;
  const underway: Promise<Attempted>[] = [];
  const report = async (attempt: Promise<Attempted>) => {
    const { id, error } = await attempt;
    if (error instanceof UnreachableError || error instanceof AuthenticationError) throw error;
    if (error === undefined) {
      print({ id, ok: true }, output, () => id);
      return;
    }
    if (code === EXIT.FINISHED) code = exitCodeOfError(error);
    print({ id, ok: false, message: messageOf(error) }, output, () => '');
    if (!output.isJson) tell(`wb: ${id}: ${messageOf(error)}`);
  };
  for (const id of ids) {
    const attempt = wholeId(hub, id)
      .then((whole) => change.one(hub, whole, options))
      .then(
        () => ({ id }),
        (error: unknown) => ({ id, error }),
      );
    underway.push(attempt);
    const first = underway.length < WIDTH ? undefined : underway.shift();
    if (first) await report(first);
  }
  for (const attempt of underway) await report(attempt);
  return code;
}
