/** Counts after each round: processes, rows and files. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Cluster } from '../chaos/cluster.js';
import type { Host } from '../chaos/host.js';
import { type Judged, judge, type Series, type Tolerance } from './growth.js';
import { countsOf, type ProcessCounts } from './process-gauge.js';

/** Life of counts that outlive processes. */
const LASTING = 'the run';

const NEARLY_NONE: Tolerance = { absolute: 5, share: 0.05 };

/** Tolerances of the counts of a process; garbage collection and the allocator decide some of them. */
export const COUNTS_OF_A_PROCESS = {
  'resident memory, MiB': { of: 'residentMiB', tolerance: { absolute: 24, share: 0.15 } },
  'heap, MiB': { of: 'heapMiB', tolerance: { absolute: 2, share: 0.05 } },
  'memory outside the heap, MiB': { of: 'externalMiB', tolerance: { absolute: 4, share: 0.1 } },
  descriptors: { of: 'descriptors', tolerance: NEARLY_NONE },
  threads: { of: 'threads', tolerance: { absolute: 4, share: 0 } },
  'entries of maps and sets': { of: 'mapEntries', tolerance: { absolute: 100, share: 0.05 } },
} as const satisfies Record<string, { of: keyof ProcessCounts; tolerance: Tolerance }>;

/** Tables whose rows are removed by their age or number alone, with the largest number of rows that is in order. */
const KEPT_LONGER: Readonly<Record<string, { readonly limit: number; readonly why: string }>> = {
  task_change: { limit: 262_144 + 8192, why: 'the last 262,144 changes' },
  task_statistics: { limit: 1000, why: 'by hours and kinds of tasks' },
  task_duration: { limit: 100_000, why: 'by minutes, hours and classes of durations' },
  change_history: { limit: 10, why: 'one, and one for each restore' },
  resumable_upload: { limit: 500, why: 'completed uploads for an hour' },
  // Tables of the audit of this run.
  chaos_end: { limit: Number.POSITIVE_INFINITY, why: 'ends that the audit compares' },
};

/** Columns with a time from which a sweep removes the row; as many of them are there as the load makes in the meantime. */
const TIME_COLUMNS: Readonly<Record<string, string>> = {
  stored_file: 'expires_at',
  webhook_delivery: 'ended_at',
};
/** Time until a row is overdue: two sweeps and what the run keeps rows for. */
const OVERDUE_MS = 150_000;

interface KindsOfMaps extends Pick<ProcessCounts, 'byKind' | 'mapsByKind'> {
  readonly life: string;
}

export class Measurements {
  readonly #cluster: Cluster;
  readonly #series = new Map<
    string,
    { name: string; tolerance: Tolerance; samples: Series['samples'][number][] }
  >();
  /** Counts by kinds of map, by process and life, at each measurement. */
  readonly #kinds = new Map<string, KindsOfMaps[]>();

  constructor(cluster: Cluster) {
    this.#cluster = cluster;
  }

  /** All counts with their verdicts. */
  judged(): Judged[] {
    return [...this.#series.values()].map(judgeCount);
  }

  /** A line for each count that grows. */
  growth(): string[] {
    return this.judged()
      .filter(({ verdict }) => verdict === 'GROWS')
      .map(({ name, begin, end, rounds }) => {
        const [host = ''] = name.split(':');
        const kinds = name.endsWith('sets') ? `: ${this.#grownKinds(host).join('; ')}` : '';
        return `${name} grows: ${begin?.toFixed(1)} at the beginning and ${end?.toFixed(1)} at the end of ${rounds} rounds${kinds}`;
      });
  }

  /** Counts everything once. */
  async take(): Promise<void> {
    const { folder, hubs, agents, store } = this.#cluster.parts;
    for (const [table, rows] of await store.rowCounts())
      if (!(table in TIME_COLUMNS)) this.#add(`rows of ${table}`, rows, NEARLY_NONE);
    for (const [table, column] of Object.entries(TIME_COLUMNS)) {
      const overdue = await store.countWhere(table, `${column} < ${Date.now() - OVERDUE_MS}`);
      this.#add(`overdue rows of ${table}`, overdue, NEARLY_NONE);
    }
    const { database } = store;
    if (database) this.#add('connections to the database', await database.connections(), NEARLY_NONE);
    for (const host of [...hubs, ...agents]) {
      const tolerance = { absolute: 20, share: 0.05 };
      this.#add(`${host.name}: files`, filesIn(join(folder, host.name)), tolerance);
      await this.#takeProcess(host);
    }
    const shared = join(folder, 'blobs');
    if (existsSync(shared)) this.#add('files of all hubs', filesIn(shared), { absolute: 20, share: 0.05 });
    const workers = this.#cluster.workers();
    const guards = workers.filter(isGuard).length;
    // After the end of a common program, each instance of an agent may have one of its own, with a guard.
    this.#add('instance programs and scripts', workers.length - guards, {
      absolute: agents.length,
      share: 0,
    });
    this.#add('guards of scripts', guards, { absolute: 2 * agents.length, share: 0 });
  }

  /** The kinds of maps that have grown most in the longest life of a process. */
  #grownKinds(host: string): string[] {
    const samples = this.#kinds.get(host) ?? [];
    const byLife = new Map<string, KindsOfMaps[]>();
    for (const sample of samples) byLife.set(sample.life, [...(byLife.get(sample.life) ?? []), sample]);
    const longest = [...byLife.values()].sort((a, b) => b.length - a.length)[0] ?? [];
    const [begin, end] = [longest[Math.floor(longest.length / 3)], longest.at(-1)];
    if (!begin || !end) return [];
    return Object.entries(end.byKind)
      .map(([kind, size]) => ({ kind, size, more: size - (begin.byKind[kind] ?? 0) }))
      .filter(({ more }) => more > 0)
      .sort((a, b) => b.more - a.more)
      .slice(0, 5)
      .map(({ kind, size, more }) => `${more} more of ${kind}, now ${size} in ${end.mapsByKind[kind]}`);
  }

  async #takeProcess({ name, program }: Host): Promise<void> {
    const { pid } = program.process;
    if (pid === undefined) throw new Error(`${name} does not run`);
    const counts = await countsOf(pid, gaugeFileOf(this.#cluster.parts.folder, name));
    const life = `process ${pid}`;
    for (const [what, { of, tolerance }] of Object.entries(COUNTS_OF_A_PROCESS))
      this.#add(`${name}: ${what}`, counts[of], tolerance, life);
    this.#kinds.set(name, [
      ...(this.#kinds.get(name) ?? []),
      { life, byKind: counts.byKind, mapsByKind: counts.mapsByKind },
    ]);
  }

  #add(name: string, value: number, tolerance: Tolerance, life = LASTING): void {
    const series = this.#series.get(name) ?? { name, tolerance, samples: [] };
    series.samples.push({ life, atS: performance.now() / 1000, value });
    this.#series.set(name, series);
  }
}

/** Judges a count, or compares the rows of a table with its limit. */
export function judgeCount(series: Series): Judged {
  const judged = judge(series);
  const kept = KEPT_LONGER[/^rows of (.*)$/.exec(series.name)?.[1] ?? ''];
  if (!kept) return judged;
  return { ...judged, verdict: (judged.end ?? 0) > kept.limit ? 'GROWS' : `keeps ${kept.why}` };
}

export function gaugeFileOf(folder: string, name: string): string {
  return join(folder, `${name}.gauge`);
}

/** Whether a process is the shell by which the runner ends scripts. */
function isGuard(pid: number): boolean {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes('leaders=');
  } catch {
    return false; // it has ended meanwhile
  }
}

function filesIn(folder: string): number {
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true });
  return entries.filter((entry) => entry.isFile()).length;
}
