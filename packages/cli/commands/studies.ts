/** `wb study`: one job at many points. */
import type { PointOutcome, Study, StudyDetails, StudyItem, StudyPoint } from '@workbench-hub/client';
import type { Command } from 'commander';
import type { Run } from '../command-action.js';
import { type Column, type Output, print, printable, table, tell } from '../console.js';
import { EXIT, type ExitCode, UsageError } from '../exit-codes.js';
import { collect, withJobOptions } from '../job-options.js';
import { withUploadBar } from '../progress.js';
import { studyNamed } from '../study-names.js';
import { type StudyOptions, studyOf, withStudyOptions } from '../study-options.js';
import { localTime } from '../times.js';
import { addInvalidationCommands } from './invalidations.js';

const OUTCOMES = [
  'FINISHED',
  'REUSED',
  'SOLVER_FAILED',
  'RULE_FAILED',
  'INFRASTRUCTURE',
  'CANCELED',
] as const;
const FAILURES = ['SOLVER_FAILED', 'RULE_FAILED', 'INFRASTRUCTURE'] as const;
/** Studies that a list shows. */
const SHOWN = 50;

export function addStudyCommands(program: Command, run: Run): void {
  const study = program.command('study').description('studies: one job at many points');
  addRun(study, run);
  addList(study, run);
  addShow(study, run);
  addPoints(study, run);
  addChanges(study, run);
  addInvalidationCommands(study, run);
}

function addRun(study: Command, run: Run): void {
  withStudyOptions(withJobOptions(study.command('run')))
    .description('create a study, and follow it to its end')
    .option('-d, --detach', 'print its id instead of following it')
    .action(
      run(async (hub, output, options: StudyOptions & { readonly detach?: boolean }) => {
        const job = await studyOf(options);
        const onWarning = (warning: string) => tell(`wb: ${printable(warning)}`);
        const created = await withUploadBar((onUpload) => hub.createStudy(job, { onUpload, onWarning }));
        if (!options.detach) return follow(created, output);
        print({ id: created.id }, output, () => created.id);
        return EXIT.FINISHED;
      }),
    );
}

const COLUMNS: readonly Column<StudyItem>[] = [
  { title: 'ID', of: ({ id }) => id },
  { title: 'STATE', of: ({ state }) => state },
  { title: 'DONE', of: ({ points }) => `${endedOf(points)}/${points.total}` },
  { title: 'FAILED', of: ({ points }) => failedOf(points) || undefined, isRare: true },
  { title: 'CREATED', of: ({ createdAt }) => localTime(createdAt) },
  { title: 'CREATOR', of: ({ creator }) => creator, isRare: true },
  { title: 'NAME', of: ({ name }) => name },
];

function addList(study: Command, run: Run): void {
  study
    .command('ls')
    .description('list studies, newest first')
    .option('-n, --name <name>', 'with this name')
    .action(
      run(async (hub, output, { name }: { readonly name?: string }) => {
        const studies: StudyItem[] = [];
        for await (const each of hub.studies(name === undefined ? {} : { name })) {
          studies.push(each);
          if (studies.length === SHOWN) break;
        }
        print(studies, output, () => table(studies, COLUMNS));
        return EXIT.FINISHED;
      }),
    );
}

function addShow(study: Command, run: Run): void {
  study
    .command('show')
    .argument('<study>', 'id, or name of the newest with it')
    .description('show state and points of a study')
    .action(
      run(async (hub, output, given: string) => {
        const details = await (await studyNamed(hub, given)).details();
        print(details, output, () => inWords(details));
        return EXIT.FINISHED;
      }),
    );
  study
    .command('watch')
    .argument('<study>', 'id, or name of the newest with it')
    .description('follow a study to its end')
    .action(run(async (hub, output, given: string) => follow(await studyNamed(hub, given), output)));
}

function addPoints(study: Command, run: Run): void {
  study
    .command('export')
    .argument('<study>', 'id, or name of the newest with it')
    .description('print the points with their variables and values, as CSV or as lines of JSON')
    .option('--outcome <outcome>', 'points with this outcome only', collect, [])
    .action(
      run(async (hub, { isJson }, given: string, { outcome }: { readonly outcome: readonly string[] }) => {
        const found = await studyNamed(hub, given);
        const { variables, values } = await found.details();
        const names = {
          variables: variables.map(({ name }) => name),
          values: values.map(({ name }) => name),
        };
        if (!isJson)
          line(csvLine(['point', ...names.variables, 'outcome', ...names.values, 'task', 'message']));
        for await (const point of found.points({ outcomes: outcome.map(outcomeOf) })) {
          line(isJson ? JSON.stringify(point) : csvLine(cellsOf(point, names)));
        }
        return EXIT.FINISHED;
      }),
    );
}

function addChanges(study: Command, run: Run): void {
  const simple = (name: 'pause' | 'resume' | 'stop', description: string) =>
    study
      .command(name)
      .argument('<study>', 'id, or name of the newest with it')
      .description(description)
      .action(
        run(async (hub, output, given: string) => {
          const details = await (await studyNamed(hub, given))[name]();
          print(details, output, () => `${details.id}: ${details.state}`);
          return EXIT.FINISHED;
        }),
      );
  simple('pause', 'begin no further points');
  simple('resume', 'go on with a study that is paused or stopped');
  simple('stop', 'cancel the tasks of a study, and begin no further points');
  study
    .command('retry')
    .argument('<study>', 'id, or name of the newest with it')
    .description('try points again; by default those that were given up for the infrastructure')
    .option('--outcome <outcome>', 'points with this outcome', collect, [])
    .action(
      run(async (hub, output, given: string, { outcome }: { readonly outcome: readonly string[] }) => {
        const outcomes = outcome.length === 0 ? (['INFRASTRUCTURE'] as const) : outcome.map(outcomeOf);
        const retried = await (await studyNamed(hub, given)).retry(outcomes);
        print(
          { retried },
          output,
          () => `${retried} ${retried === 1 ? 'point is' : 'points are'} tried again`,
        );
        return EXIT.FINISHED;
      }),
    );
  study
    .command('delete')
    .argument('<study>', 'id, or name of the newest with it')
    .description('delete a study that is stopped or finished; its tasks stay')
    .action(
      run(async (hub, output, given: string) => {
        const found = await studyNamed(hub, given);
        await found.delete();
        print({ id: found.id }, output, () => found.id);
        return EXIT.FINISHED;
      }),
    );
}

/** Tells the progress of a study until its end. Ctrl-C leaves the study as it is. */
async function follow(study: Study, output: Output): Promise<ExitCode> {
  const interrupt = new AbortController();
  const onInterrupt = () => interrupt.abort(new Error('interrupted'));
  process.on('SIGINT', onInterrupt).on('SIGTERM', onInterrupt);
  try {
    let told = '';
    const details = await study.wait({
      signal: interrupt.signal,
      onChange: ({ id, state, points }) => {
        const text = `${id}: ${state}, ${progressOf(points)}`;
        if (text !== told) tell(text);
        told = text;
      },
    });
    print(details, output, () => inWords(details));
    return exitCodeOf(details);
  } catch (error) {
    if (!interrupt.signal.aborted) throw error;
    tell(`\n${study.id} goes on. Attach again with: wb study watch ${study.id}`);
    return EXIT.INTERRUPTED;
  } finally {
    process.off('SIGINT', onInterrupt).off('SIGTERM', onInterrupt);
  }
}

function exitCodeOf({ state, points }: StudyDetails): ExitCode {
  if (state === 'STOPPED' || state === 'PAUSED') return EXIT.CANCELED;
  return failedOf(points) + (points.CANCELED ?? 0) > 0 ? EXIT.FAILED : EXIT.FINISHED;
}

type Counts = StudyItem['points'];

function endedOf(points: Counts): number {
  return OUTCOMES.reduce((sum, outcome) => sum + (points[outcome] ?? 0), 0);
}

function failedOf(points: Counts): number {
  return FAILURES.reduce((sum, outcome) => sum + (points[outcome] ?? 0), 0);
}

function progressOf(points: Counts): string {
  const failed = failedOf(points);
  return `${endedOf(points)} of ${points.total} points${failed > 0 ? `, ${failed} failed` : ''}`;
}

function inWords(study: StudyDetails): string {
  const { id, name, state, message, points, variables, values } = study;
  const counts = OUTCOMES.filter((outcome) => (points[outcome] ?? 0) > 0);
  return [
    `${id}  ${printable(name)}`,
    `${state}, ${progressOf(points)}${message === undefined ? '' : `: ${printable(message)}`}`,
    ...counts.map((outcome) => `  ${outcome} ${points[outcome]}`),
    `variables: ${variables.map((each) => printable(each.name)).join(', ')}`,
    ...(values.length === 0 ? [] : [`values: ${values.map((each) => printable(each.name)).join(', ')}`]),
  ].join('\n');
}

function outcomeOf(text: string): PointOutcome {
  const outcome = OUTCOMES.find((each) => each === text.toUpperCase().replaceAll('-', '_'));
  if (outcome !== undefined) return outcome;
  throw new UsageError(`--outcome ${text} must be one of ${OUTCOMES.join(', ').toLowerCase()}`);
}

interface Names {
  readonly variables: readonly string[];
  readonly values: readonly string[];
}

function cellsOf(
  { number, variables, outcome, values, taskId, message, notReused }: StudyPoint,
  names: Names,
) {
  return [
    number,
    ...names.variables.map((name) => variables[name]),
    outcome,
    ...names.values.map((name) => values[name]),
    taskId,
    message ?? notReused,
  ];
}

/** A line of CSV (RFC 4180). */
function csvLine(cells: readonly (string | number | undefined)[]): string {
  return cells
    .map((cell) => {
      const text = String(cell ?? '');
      return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
    })
    .join(',');
}

function line(text: string): void {
  print(null, { isJson: false }, () => text);
}
