/** A day of a hub before its screenshots are made, written into its database: what has ended, and what has waited for long. */
import { PeriodSum } from '@workbench-hub/hub/core/period-sum';
import { openDatabase, type SqliteDatabase } from '@workbench-hub/hub/store/sqlite/connection/database';
import { addStatistics } from '@workbench-hub/hub/store/sqlite/tasks/task-statistics';
import { requirementKey } from '@workbench-hub/shared/domain/classifier';
import { priorityRank } from '@workbench-hub/shared/domain/priority';
import { idOf } from '../bench/stored-tasks/stored-task.js';
import { type SeededRandom, seededRandom } from '../support/random.js';

const SEED = 7;
const DAY_MS = 86_400_000;
const MINUTE_MS = 60_000;
/** In a day, mostly while people work. */
const TASKS = 2400;

const CREATORS = ['bela', 'chen', 'dora', 'emil'] as const;

interface Study {
  readonly name: (number: number) => string;
  readonly version: string;
  readonly label: string;
  readonly host: string;
  readonly instances: number;
  readonly runS: number;
  /** Message of those that fail. */
  readonly fault: string;
}

const STUDIES: readonly Study[] = [
  {
    name: (number) => `slider-crank at ${600 + 25 * (number % 120)} rpm`,
    version: '3.*',
    label: 'multibody',
    host: 'sim-host-1',
    instances: 4,
    runS: 9,
    fault: 'script 1 of 2 exited with code 1: the crank never reached its speed',
  },
  {
    name: (number) => `bevel gear contact, mesh ${1 + (number % 40)}`,
    version: '9.*',
    label: 'gears',
    host: 'sim-host-2',
    instances: 3,
    runS: 74,
    fault: 'script 1 of 1 exited with code 3: no convergence after 40 iterations',
  },
  {
    name: (number) => `wing flutter, Mach 0.${60 + (number % 35)}`,
    version: '24.2',
    label: 'gpu',
    host: 'gpu-host',
    instances: 2,
    runS: 210,
    fault: 'the time limit of 600 s has passed',
  },
];

interface Row {
  readonly status: 'WAITING' | 'FINISHED' | 'FAILED' | 'CANCELED';
  readonly study: Study;
  readonly number: number;
  readonly requestedAtMs: number;
  readonly waitedMs: number;
  readonly ranMs: number;
  readonly priority: 'HIGH' | 'NORMAL' | 'LOW';
}

/** Creates the database. */
export function writeHistory(file: string, nowMs: number): void {
  const random = seededRandom(SEED);
  const db = openDatabase(file);
  try {
    const rows = [...endedRows(nowMs, random), ...waitingRows(nowMs)];
    rows.sort((a, b) => a.requestedAtMs - b.requestedAtMs);
    db.transaction(() => {
      insertTasks(db, rows, random);
      insertStatistics(db, rows);
    })();
  } finally {
    db.close();
  }
}

function endedRows(nowMs: number, random: SeededRandom): Row[] {
  const rows: Row[] = [];
  for (let number = 0; rows.length < TASKS; number++) {
    // At least a quarter of an hour ago, so that nothing is requested after what runs now.
    const requestedAtMs = nowMs - 15 * MINUTE_MS - Math.floor(random.next() * DAY_MS);
    const hour = new Date(requestedAtMs).getHours();
    // Fewer at night.
    if (random.next() > 0.25 + 0.75 * Math.max(0, Math.sin(((hour - 6) / 14) * Math.PI))) continue;
    const study = random.of(STUDIES.flatMap((each, at) => Array<Study>(5 - 2 * at).fill(each)));
    const isLate = random.oneIn(20);
    rows.push({
      status: random.oneIn(24) ? 'FAILED' : random.oneIn(50) ? 'CANCELED' : 'FINISHED',
      study,
      number,
      requestedAtMs,
      waitedMs: Math.floor(random.next() * (isLate ? 400_000 : 20_000)),
      ranMs: Math.floor((0.5 + random.next()) * study.runS * 1000),
      priority: random.oneIn(9) ? 'HIGH' : random.oneIn(9) ? 'LOW' : 'NORMAL',
    });
  }
  return rows;
}

/** They wait for the host with the graphics processors. */
function waitingRows(nowMs: number): Row[] {
  return Array.from({ length: 7 }, (_, number): Row => {
    const [, , study = STUDIES[0] as Study] = STUDIES;
    const requestedAtMs = nowMs - (34 - 4 * number) * MINUTE_MS;
    const priority = number === 2 ? 'HIGH' : 'NORMAL';
    return { status: 'WAITING', study, number, requestedAtMs, waitedMs: 0, ranMs: 0, priority };
  });
}

function insertTasks(db: SqliteDatabase, rows: readonly Row[], random: SeededRandom): void {
  const requirement = db.prepare('INSERT INTO requirement (id, key) VALUES (?, ?)');
  for (const [at, { version, label }] of STUDIES.entries())
    requirement.run(at + 1, requirementKey({ version, labels: [label] }));
  const insert = db.prepare(`
    INSERT INTO task (id, type, status, priority, requirement_id, requested_at, started_at, ended_at, attempt, agent_id,
                      instance_id, instance_version, instance_revision, batch_status, creator, name, classifiers, message, job)
    VALUES (?, 'EXECUTE_BATCH_JOB', ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`);
  for (const row of rows) {
    const { status, study, number, requestedAtMs, waitedMs, ranMs, priority } = row;
    const hasRun = status === 'FINISHED' || status === 'FAILED';
    const startedAtMs = requestedAtMs + waitedMs;
    insert.run(
      idOf(requestedAtMs, random),
      status,
      priorityRank(priority),
      STUDIES.indexOf(study) + 1,
      requestedAtMs,
      hasRun ? startedAtMs : null,
      status === 'WAITING' ? null : startedAtMs + ranMs,
      hasRun ? 1 : 0,
      ...(hasRun ? instanceOf(row) : [null, null, null, null]),
      status === 'FINISHED' ? 'OK' : null,
      CREATORS[number % CREATORS.length],
      study.name(number),
      JSON.stringify(classifiersOf(row)),
      status === 'FAILED' ? study.fault : null,
      jobOf(number),
    );
  }
}

/** Agent, id, version and revision of the instance that ran a task. */
function instanceOf({ study, number }: Row): string[] {
  const { version, label, host, instances } = study;
  return [host, `${label}-${1 + (number % instances)}`, version.replace('*', '1.0'), '4711'];
}

function classifiersOf({ study, priority }: Row): { type: string; value: string }[] {
  return [
    { type: 'VERSION', value: study.version },
    { type: 'LABLES', value: study.label },
    ...(priority === 'NORMAL' ? [] : [{ type: 'PRIORITY', value: priority }]),
  ];
}

/** A job whose files are gone, as they are after a restore without them. */
function jobOf(number: number): string {
  return JSON.stringify({
    type: 'EXECUTE_BATCH_JOB',
    model: null,
    scripts: [{ digest: '0'.repeat(64), sizeBytes: 2310 }],
    additionalFiles: [],
    variables: [{ key: 'case', value: String(number) }],
  });
}

/** As the hub would have counted it. */
function insertStatistics(db: SqliteDatabase, rows: readonly Row[]): void {
  const minutes = new Map<number, PeriodSum>();
  const minuteOf = (atMs: number): PeriodSum => {
    const startMs = Math.floor(atMs / MINUTE_MS) * MINUTE_MS;
    const sum = minutes.get(startMs) ?? new PeriodSum();
    minutes.set(startMs, sum);
    return sum;
  };
  for (const { status, requestedAtMs, waitedMs, ranMs } of rows) {
    minuteOf(requestedAtMs).count('created');
    if (status === 'WAITING') continue;
    const startedAtMs = requestedAtMs + waitedMs;
    if (status === 'CANCELED') {
      minuteOf(startedAtMs).count('canceled');
      continue;
    }
    minuteOf(startedAtMs).started(waitedMs);
    minuteOf(startedAtMs + ranMs).ended(status === 'FINISHED' ? 'finished' : 'failed', ranMs);
  }
  addStatistics(db)([...minutes].map(([startMs, sum]) => sum.period(startMs)));
}
