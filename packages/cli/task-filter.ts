/** The options that select tasks, and the columns that show them. */
import type { Hub, TaskFilter, TaskItem } from '@workbench-hub/client';
import { type Command, Option } from 'commander';
import type { Column } from './console.js';
import { collect } from './job-options.js';
import { studyNamed } from './study-names.js';
import { ageOf, timeOf } from './times.js';

export interface FilterOptions {
  readonly status: readonly string[];
  readonly name?: string;
  readonly creator?: string;
  readonly note?: string;
  readonly priority?: string;
  readonly instance: readonly string[];
  readonly study?: string;
  /** Whether tasks of studies match, too. */
  readonly points?: boolean;
  readonly from?: string;
  readonly to?: string;
}

export const TASK_COLUMNS: readonly Column<TaskItem>[] = [
  { title: 'ID', of: ({ id }) => id },
  {
    title: 'STATUS',
    of: ({ status, batchExecutionStatus }) =>
      batchExecutionStatus === 'ERROR' ? `${status} (ERROR)` : status,
  },
  { title: 'PRIORITY', of: ({ priority }) => priority },
  { title: 'AGE', of: ({ requestedAt }) => ageOf(requestedAt) },
  { title: 'INSTANCE', of: ({ instance }) => instance?.id },
  { title: 'CREATOR', of: ({ creator }) => creator },
  { title: 'NAME', of: ({ name }) => name },
];

export function withFilterOptions(command: Command): Command {
  return command
    .option('--status <status>', 'WAITING, RUNNING, FINISHED, FAILED or CANCELED', collectUpper, [])
    .option('--name <pattern>', 'name, with the wildcards * and ?')
    .option('--creator <pattern>', 'user, with the wildcards * and ?')
    .option('--note <pattern>', 'note, with the wildcards * and ?')
    .addOption(new Option('--priority <priority>', 'priority').argParser(upper))
    .option('--instance <id>', 'instance', collect, [])
    .option('--study <study>', 'tasks of this study: its id, or the name of the newest with it')
    .option('--points', 'also tasks of studies, which are left out otherwise')
    .option(
      '--from <time>',
      'requested at this time or later: yesterday, 2h, 2026-11-21, 06:53, 2026-11-21T06:53:00Z',
    )
    .option('--to <time>', 'requested before this time');
}

/** The filter of these options. Without `study` and `points`, tasks of studies do not match. */
export async function filterOf(hub: Hub, options: FilterOptions): Promise<TaskFilter> {
  const { study, points = false } = options;
  if (study !== undefined) return { ...conditionsOf(options), study: (await studyNamed(hub, study)).id };
  return { ...conditionsOf(options), ...(points ? {} : { study: 'none' }) };
}

/** Whether these options have a condition by which tasks are chosen. */
export function hasCondition(options: FilterOptions): boolean {
  return options.study !== undefined || Object.keys(conditionsOf(options)).length > 0;
}

function conditionsOf({
  status,
  instance,
  name,
  note,
  creator,
  priority,
  from,
  to,
}: FilterOptions): TaskFilter {
  return {
    ...(status.length === 0 ? {} : { status }),
    ...(instance.length === 0 ? {} : { instance }),
    ...(name === undefined ? {} : { name }),
    ...(note === undefined ? {} : { note }),
    ...(creator === undefined ? {} : { creator }),
    ...(priority === undefined ? {} : { priority }),
    ...(from === undefined ? {} : { from: timeOf('--from', from) }),
    ...(to === undefined ? {} : { to: timeOf('--to', to) }),
  } as TaskFilter;
}

function upper(text: string): string {
  return text.toUpperCase();
}

function collectUpper(value: string, before: readonly string[]): string[] {
  return collect(upper(value), before);
}
