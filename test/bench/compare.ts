/** Two revisions measured in turns: the one that is checked out, and another in a clone of its own. */
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { temporaryFolder } from '../support/temporary-folder.js';
import { type Figure, figuresOf } from './figures.js';
import type { Sample } from './workload.js';

/** One figure of both revisions. */
export interface ComparedFigure {
  readonly name: string;
  readonly before: Figure;
  readonly now: Figure;
}

export interface ComparedWorkload {
  readonly workload: string;
  readonly figures: readonly ComparedFigure[];
  /** Figures that only one of both has. */
  readonly others: readonly string[];
}

export interface CompareOptions {
  /** Root of a prepared clone: what is measured as it is there now. */
  readonly root: string;
  /** The other revision, as Git knows it. */
  readonly revision: string;
  readonly runs: number;
  /** Workloads and options for the benchmark of both, without `--runs` and `--json`. */
  readonly args: readonly string[];
  readonly say: (line: string) => void;
}

/** Part of what the benchmark writes with `--json`, of one run. */
interface Measured {
  readonly results: readonly {
    readonly workload: string;
    readonly figures: readonly Pick<Figure, 'name' | 'unit' | 'median'>[];
  }[];
}

/** Measures both in turns, each in every run: the speed of a machine changes. Throws when the revision is unknown, cannot be prepared, or
 *  when a run leaves no figures. */
export async function compare(options: CompareOptions): Promise<ComparedWorkload[]> {
  const { root, revision, runs, say } = options;
  const commit = commitOf(root, revision);
  const folder = await temporaryFolder();
  try {
    const other = join(folder.path, 'revision');
    say(`preparing ${revision} (${commit.slice(0, 8)}) in ${other} ...`);
    execFileSync('git', ['clone', '--quiet', '--shared', '--no-checkout', root, other], { stdio: 'inherit' });
    execFileSync('git', ['checkout', '--quiet', '--detach', commit], { cwd: other, stdio: 'inherit' });
    if (!runNode(other, ['deploy/bench.mjs', '--help'], 'ignore'))
      throw new Error(`${revision} could not be prepared; see above`);
    const before: Measured[] = [];
    const now: Measured[] = [];
    for (let round = 1; round <= runs; round++) {
      // The one that is measured first has the cooler machine.
      const turns = round % 2 === 1 ? [other, root] : [root, other];
      for (const at of turns) {
        say(`\nround ${round} of ${runs}: ${at === root ? 'this clone' : revision}`);
        (at === root ? now : before).push(measured(at, options, join(folder.path, 'figures.json')));
      }
    }
    return compared(before, now);
  } finally {
    await folder.remove();
  }
}

function commitOf(root: string, revision: string): string {
  const { status, stdout } = spawnSync('git', ['rev-parse', '--verify', '--quiet', `${revision}^{commit}`], {
    cwd: root,
    encoding: 'utf8',
  });
  if (status === 0) return stdout.trim();
  throw new Error(`--compare must be a commit, branch or tag of this clone, not ${JSON.stringify(revision)}`);
}

function measured(root: string, { args }: CompareOptions, json: string): Measured {
  rmSync(json, { force: true });
  runNode(root, ['test/dist/bench/main.js', ...args, '--runs', '1', '--json', json], 'inherit');
  // A benchmark that misses a target fails, but has written its figures.
  if (!existsSync(json)) throw new Error(`the benchmark in ${root} left no figures; see above`);
  return JSON.parse(readFileSync(json, 'utf8')) as Measured;
}

/** Runs Node.js; true when it succeeds. */
function runNode(cwd: string, args: readonly string[], output: 'inherit' | 'ignore'): boolean {
  return spawnSync(process.execPath, args, { cwd, stdio: ['ignore', output, 'inherit'] }).status === 0;
}

function compared(before: readonly Measured[], now: readonly Measured[]): ComparedWorkload[] {
  const names = now[0]?.results.map(({ workload }) => workload) ?? [];
  return names.map((workload) => {
    const of = (runs: readonly Measured[]) => runs.map((each) => samplesOf(each, workload));
    const [then, today] = [of(before), of(now)];
    const isInAll = ({ name }: Sample) =>
      [...then, ...today].every((samples) => samples.some((sample) => sample.name === name));
    const common = (runs: readonly Sample[][]) => figuresOf(runs.map((samples) => samples.filter(isInAll)));
    const earlier = new Map(common(then).map((figure) => [figure.name, figure]));
    const all = [...then, ...today].flat();
    return {
      workload,
      figures: common(today).map((figure) => ({
        name: figure.name,
        before: earlier.get(figure.name) as Figure,
        now: figure,
      })),
      others: [...new Set(all.filter((sample) => !isInAll(sample)).map(({ name }) => name))],
    };
  });
}

function samplesOf({ results }: Measured, workload: string): Sample[] {
  const figures = results.find((each) => each.workload === workload)?.figures ?? [];
  return figures.map(({ name, unit, median }) => ({ name, unit, value: median }));
}
