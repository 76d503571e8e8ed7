/** `wb study invalidate`: which earlier results studies do not reuse. */
import type { Invalidation, NewInvalidation } from '@workbench-hub/client';
import type { Command } from 'commander';
import type { Run } from '../command-action.js';
import { type Column, print, table } from '../console.js';
import { EXIT, UsageError } from '../exit-codes.js';
import { localTime } from '../times.js';

interface Options {
  readonly task?: string;
  readonly instance?: string;
  readonly workbench?: string;
  readonly note?: string;
}

const COLUMNS: readonly Column<Invalidation>[] = [
  { title: 'ID', of: ({ id }) => id },
  { title: 'RESULTS', of: resultsOf },
  { title: 'UP TO', of: ({ at }) => localTime(at) },
  { title: 'CREATOR', of: ({ creator }) => creator, isRare: true },
  { title: 'NOTE', of: ({ note }) => note, isRare: true },
];

export function addInvalidationCommands(study: Command, run: Run): void {
  study
    .command('invalidate')
    .description('let studies no longer reuse results that there are now')
    .option('--task <id>', 'result of this task')
    .option('--instance <id>', 'results of this instance')
    .option('--workbench <version/revision>', 'results of this version and revision of the workbench')
    .option('--note <text>', 'reason, for people')
    .action(
      run(async (hub, output, options: Options) => {
        const added = await hub.invalidate(requestOf(options));
        print(added, output, () => added.id);
        return EXIT.FINISHED;
      }),
    );
  study
    .command('invalidations')
    .description('list which results studies do not reuse')
    .action(
      run(async (hub, output) => {
        const all = await hub.invalidations();
        print(all, output, () => table(all, COLUMNS));
        return EXIT.FINISHED;
      }),
    );
  study
    .command('revalidate')
    .argument('<invalidation>', 'id of the invalidation')
    .description('take an invalidation back')
    .action(
      run(async (hub, output, id: string) => {
        await hub.revalidate(id);
        print({ id }, output, () => id);
        return EXIT.FINISHED;
      }),
    );
}

function requestOf({ task, instance, workbench, ...rest }: Options): NewInvalidation {
  const given = [task, instance, workbench].filter((each) => each !== undefined);
  if (given.length !== 1) throw new UsageError('Give one of --task, --instance and --workbench.');
  if (task !== undefined) return { kind: 'TASK', taskId: task, ...rest };
  if (instance !== undefined) return { kind: 'INSTANCE', instanceId: instance, ...rest };
  const [, version, revision] = /^([^/]+)\/(.+)$/.exec(workbench ?? '') ?? [];
  if (version !== undefined && revision !== undefined)
    return { kind: 'REVISION', version, revision, ...rest };
  throw new UsageError(`--workbench ${workbench} must be a version and a revision, such as 9.2/r1042`);
}

function resultsOf({ taskId, instanceId, version, revision }: Invalidation): string {
  if (taskId !== undefined) return `task ${taskId}`;
  return instanceId === undefined ? `workbench ${version}/${revision}` : `instance ${instanceId}`;
}
