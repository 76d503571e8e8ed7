/**
 * A hub with a long backlog: its memory, the time of a restart, the rate at which the backlog is worked off, and the time of a
 * task of the highest priority meanwhile.
 */
import { join } from 'node:path';
import { inFolder } from '../in-folder.js';
import { bullmqAlways } from '../peers/bullmq.js';
import { limitPipeline } from '../peers/limit.js';
import { missingPostgres } from '../subjects/postgres.js';
import { slotsAt } from '../subjects/slots.js';
import type { Subject } from '../subjects/subject.js';
import type { ReadyWorkload, Run, Target, Workload, WorkloadOptions } from '../workload.js';
import { type BacklogStore, type OpenBacklog, onPostgres, onSqlite } from './backlog-stores.js';
import { measureHub, SLOTS, URGENT_TASKS } from './hub-with-backlog.js';
import { load, urgentSamples, useOf } from './measured-load.js';
import { firstWaiting } from './waiting-tasks.js';

const WAITING = 1_000_000;
/** Other subjects get theirs through their interface, without requirements. */
const WAITING_AT_OTHERS = 200_000;

const MEMORY_LIMIT_MIB = 60;
const START_LIMIT_MS = 3000;
const URGENT_LIMIT_MS = 10;

const WHAT = '1,000,000 tasks wait over 50 requirements and all priorities, then 16 instances start';

export const w3 = backlogWorkload({
  what: WHAT,
  hubs: { hub: { open: onSqlite } },
  others: [limitPipeline, bullmqAlways],
  targets: [
    { figure: 'hub: tasks from the backlog', is: 'at least', value: 1, times: 'hub: tasks of w1' },
    ...memoryTargets('hub'),
    { figure: 'hub: start to first answer', is: 'at most', value: START_LIMIT_MS },
    { figure: 'hub: start after a kill to first answer', is: 'at most', value: START_LIMIT_MS },
    { figure: 'hub: task of the highest priority, median', is: 'at most', value: URGENT_LIMIT_MS },
  ],
});

export const w3OnPostgres = backlogWorkload({
  what: WHAT,
  hubs: {
    'hub on postgres': { open: onPostgres, missing: missingPostgres },
    'hub on sqlite': { open: onSqlite },
  },
  others: [],
  targets: [
    {
      figure: 'hub on postgres: tasks from the backlog',
      is: 'at least',
      value: 0.9,
      times: 'hub on postgres: tasks of w1',
    },
    {
      figure: 'hub on postgres: task of the highest priority, median',
      is: 'at most',
      value: 2,
      times: 'hub on sqlite: task of the highest priority, median',
    },
    ...memoryTargets('hub on postgres'),
  ],
});

interface BacklogSetup {
  readonly what: string;
  /** By their names in tables. */
  readonly hubs: Readonly<
    Record<string, { readonly open: OpenBacklog; readonly missing?: () => string | undefined }>
  >;
  readonly others: readonly Subject[];
  readonly targets: readonly Target[];
}

function backlogWorkload(setup: BacklogSetup): Workload {
  const { what, targets } = setup;
  return { name: 'w3', what, targets, prepare: (options) => prepare(setup, options) };
}

function memoryTargets(hub: string): Target[] {
  return ['memory above none waiting', 'memory above none waiting, lists in use'].map((name) => ({
    figure: `${hub}: ${name}`,
    is: 'at most',
    value: MEMORY_LIMIT_MIB,
  }));
}

async function prepare({ hubs, others }: BacklogSetup, options: WorkloadOptions): Promise<ReadyWorkload> {
  const { folder, scale, seed, only, say } = options;
  const skipped: string[] = [];
  const isThere = (name: string, missing: string | undefined) => {
    if (only !== undefined && !only.includes(name)) return false;
    if (missing === undefined) return true;
    skipped.push(`${name}: ${missing}`);
    say(`w3: NOT MEASURED: ${name}: ${missing}`);
    return false;
  };
  const count = Math.ceil(WAITING * scale);
  const waitingId = firstWaiting(seed);
  const stores = new Map<string, BacklogStore>();
  const end = async () => {
    for (const store of stores.values()) await store.end();
  };
  try {
    for (const [name, { open, missing }] of Object.entries(hubs)) {
      if (!isThere(name, missing?.())) continue;
      say(`w3: ${name}: writing ${count} tasks`);
      stores.set(name, await open(folder, count, seed));
    }
  } catch (error) {
    await end();
    throw error;
  }
  const subjects = others.filter((subject) => isThere(subject.name, subject.missing()));
  return {
    measure: async (run) => {
      const inRun = { ...options, folder: run };
      const measured: Run[] = [];
      for (const [name, store] of stores) measured.push(await measureHub(name, store, waitingId, inRun));
      for (const subject of subjects) measured.push(await measureOther(subject, inRun));
      return {
        samples: measured.flatMap(({ samples }) => samples),
        processes: measured.flatMap(({ processes }) => processes),
      };
    },
    skipped: () => skipped,
    end,
  };
}

function measureOther(subject: Subject, options: WorkloadOptions): Promise<Run> {
  return inFolder(join(options.folder, subject.name.replaceAll(' ', '-')), async (folder) => {
    const slots = slotsAt(options.scale, SLOTS);
    const running = await subject.start({ folder, slots, paused: true });
    try {
      await load('backlog', Math.ceil(WAITING_AT_OTHERS * options.scale), running, options);
      await running.resume();
      const urgent = await load('urgent', Math.ceil(URGENT_TASKS * options.scale), running, options);
      return {
        samples: urgentSamples(urgent).map((sample) => ({
          ...sample,
          name: `${subject.name}, 200,000 of one kind: ${sample.name}`,
        })),
        processes: useOf(subject.name, running.pids),
      };
    } finally {
      await running.stop();
    }
  });
}
