/** Audit of every task that was accepted with 201: by REST, and in the database. */
import Database from 'better-sqlite3';
import { eventually } from '../support/eventually.js';
import { restClient } from '../support/interface/rest-client.js';
import { type Acknowledged, type Ending, endingOf } from './load.js';

export interface Findings {
  readonly lost: string[];
  readonly twice: string[];
  readonly wrong: string[];
}

/** Lets the database record each end of a task. */
export function recordEnds(databaseFile: string): void {
  const db = new Database(databaseFile);
  db.exec(`
    CREATE TABLE chaos_end (id TEXT NOT NULL, status TEXT NOT NULL);
    CREATE TRIGGER chaos_task_ended AFTER UPDATE ON task
      WHEN NEW.ended_at IS NOT NULL AND (OLD.ended_at IS NULL OR NEW.status <> OLD.status)
      BEGIN INSERT INTO chaos_end VALUES (NEW.id, NEW.status); END;
  `);
  db.close();
}

/** Number of tasks that have not ended. */
export async function openTasks(baseUrl: string, token: string): Promise<number> {
  const path = '/api/2.0/workbench/task/list?status=WAITING&status=RUNNING&size=1';
  const answer = await restClient(baseUrl).call(path, bearer(token));
  if (answer.status !== 200) throw new Error(`the list of tasks was answered with ${answer.status}`);
  return (answer.json() as { totalElements: number }).totalElements;
}

function bearer(token: string): RequestInit {
  return { headers: { authorization: `Bearer ${token}` } };
}

/** The first response other than 503: a hub may not have noticed yet that a fault has ended, of the sign-on provider for example. */
async function untilAble(call: () => ReturnType<ReturnType<typeof restClient>['call']>) {
  return eventually(async () => {
    const answer = await call();
    return answer.status === 503 ? undefined : answer;
  });
}

/** Compares each task in REST, at one hub after the other, with the end that its client saw. */
export async function auditByRest(
  baseUrls: readonly string[],
  token: string,
  tasks: readonly Acknowledged[],
  { lost, twice, wrong }: Findings,
): Promise<void> {
  const clients = baseUrls.map((baseUrl) => restClient(baseUrl));
  for (const [at, task] of tasks.entries()) {
    const client = clients[at % clients.length] as ReturnType<typeof restClient>;
    const path = `/api/2.0/workbench/task/${task.kind}/${task.id}/result`;
    const answer = await untilAble(() => client.call(path, bearer(token)));
    const end = answer.status === 200 ? endingOf(answer.json() as never) : undefined;
    if (!end) {
      lost.push(`${task.id}: REST answers ${answer.status} ${answer.text.slice(0, 200)}`);
      continue;
    }
    if (task.end && !isSameEnd(task.end, end)) {
      twice.push(`${task.id}: ended as ${JSON.stringify(task.end)}, and is now ${JSON.stringify(end)}`);
    }
    if (end.status === 'CANCELED' && task.isToBeCanceled) continue;
    if (!hasSucceeded(task, end)) wrong.push(`${task.id} (${task.kind}): ${JSON.stringify(end)}`);
  }
}

/** Whether a task has finished well, with the outputs that are expected of it. */
function hasSucceeded({ kind, expectedDigest }: Acknowledged, end: Ending): boolean {
  return (
    end.status === 'FINISHED' &&
    end.outputDigest === expectedDigest &&
    end.batchStatus === (kind === 'execute-batch-job' ? 'OK' : null)
  );
}

/** Whether a client saw this end: the files of a canceled attempt may arrive after it (contract 2.9). */
function isSameEnd(seen: Ending, end: Ending): boolean {
  const mayGainFiles = seen.status === 'CANCELED' && seen.outputDigest === null;
  const compared = mayGainFiles ? { ...end, outputDigest: null } : end;
  return JSON.stringify(seen) === JSON.stringify(compared);
}

/** A task as the store has it, with the ends of which its database was told. */
export interface AuditedRow {
  readonly status: string;
  readonly endedAt: number | null;
  readonly ends: readonly string[];
  /** Whether an attempt of it was given up as lost. */
  readonly hasLost: boolean;
}

/** The tasks of a database file; a damaged one is a finding. */
export function sqliteRows(databaseFile: string, { wrong }: Findings): ReadonlyMap<string, AuditedRow> {
  const db = new Database(databaseFile, { readonly: true });
  const ends = db.prepare<[string], string>('SELECT status FROM chaos_end WHERE id = ?').pluck();
  const tasks = db
    .prepare<[], { id: string; status: string; endedAt: number | null; losses: number }>(
      `SELECT id, status, ended_at AS endedAt,
         (SELECT count(*) FROM former_attempt WHERE task_seq = task.seq AND loss = 'LOSS') AS losses FROM task`,
    )
    .all();
  const rows = new Map(
    tasks.map(({ id, losses, ...row }) => [id, { ...row, ends: ends.all(id), hasLost: losses > 0 }]),
  );
  const sound = db.pragma('integrity_check', { simple: true });
  if (sound !== 'ok') wrong.push(`the database is damaged: ${sound}`);
  db.close();
  return rows;
}

/** Number of rows of each table of a database file. */
export function sqliteRowCounts(databaseFile: string): ReadonlyMap<string, number> {
  const db = new Database(databaseFile, { readonly: true });
  try {
    const tables = db
      .prepare<[], string>(
        "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'",
      )
      .pluck()
      .all();
    const count = (table: string) =>
      db.prepare<[], number>(`SELECT count(*) FROM "${table}"`).pluck().get() ?? 0;
    return new Map(tables.map((table) => [table, count(table)]));
  } finally {
    db.close();
  }
}

/** Number of rows of a table that meet a condition. */
export function sqliteCountWhere(databaseFile: string, table: string, condition: string): number {
  const db = new Database(databaseFile, { readonly: true });
  try {
    const text = `SELECT count(*) FROM "${table}" WHERE ${condition}`;
    return db.prepare<[], number>(text).pluck().get() ?? 0;
  } finally {
    db.close();
  }
}

/** Compares the rows of the store with the ends that clients saw. */
export function auditRows(
  rows: ReadonlyMap<string, AuditedRow>,
  tasks: readonly Acknowledged[],
  { lost, twice, wrong }: Findings,
): void {
  for (const { id, end } of tasks) {
    const row = rows.get(id);
    if (!row || row.endedAt === null) {
      lost.push(`${id}: the database has ${JSON.stringify(row)}`);
      continue;
    }
    if (end && row.status !== end.status)
      wrong.push(`${id}: ${row.status} in the database, ${end.status} by REST`);
    if (row.ends.length > 1) twice.push(`${id}: the database was told of the ends ${row.ends.join(', ')}`);
    if (row.ends.length === 0) lost.push(`${id}: the database was told of no end`);
  }
}
