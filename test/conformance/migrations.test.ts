/** Each earlier schema version is migrated with all its data. Earlier databases are made by the migrations themselves, which
 *  therefore never change after a release. */
import { createHash } from 'node:crypto';
import { join } from 'node:path';
import type { TaskStore } from '@workbench-hub/hub/core/ports/store';
import type { TaskQuery } from '@workbench-hub/hub/core/ports/task-archive';
import {
  ACCOUNTS_MIGRATIONS,
  openAccountsDatabase,
} from '@workbench-hub/hub/store/sqlite/accounts/accounts-database';
import {
  MIGRATIONS,
  migrate,
  openDatabase,
  type SqliteDatabase,
} from '@workbench-hub/hub/store/sqlite/connection/database';
import { openSqliteStore } from '@workbench-hub/hub/store/sqlite/store';
import { StartRefused } from '@workbench-hub/shared/runtime/run-program';
import { systemRuntime } from '@workbench-hub/shared/runtime/system-runtime';
import Database from 'better-sqlite3';
import { pino } from 'pino';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type TemporaryFolder, temporaryFolder } from '../support/temporary-folder.js';

let temporary: TemporaryFolder;
let folder: string;
beforeEach(async () => {
  temporary = await temporaryFolder();
  folder = temporary.path;
});
afterEach(() => temporary.remove());

const versionsOf = (migrations: readonly string[]) => migrations.map((_, index) => index + 1);

/** A database as the hub of this schema version left it: each row was put in when its version was the latest. */
function makeDatabase(
  file: string,
  migrations: readonly string[],
  rows: readonly (readonly string[])[],
): void {
  const db = new Database(file);
  db.pragma('journal_mode = WAL');
  db.pragma('foreign_keys = ON');
  for (const version of versionsOf(migrations)) {
    migrate(db, file, migrations.slice(0, version));
    for (const sql of rows[version - 1] ?? []) db.exec(sql);
  }
  db.close();
}

/** Tables with their columns, and indexes with theirs. */
function schemaOf(db: SqliteDatabase): unknown {
  const tables = db
    .prepare("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name")
    .pluck()
    .all() as string[];
  const triggers = db
    .prepare("SELECT name, sql FROM sqlite_master WHERE type = 'trigger' ORDER BY name")
    .all();
  const columns = tables.map((table) => ({
    table,
    columns: db
      .prepare('SELECT name, type, "notnull", dflt_value, pk FROM pragma_table_info(?) ORDER BY name')
      .all(table),
    indexes: db
      .prepare(
        `SELECT list.name, list."unique", list.partial, info.name AS column
         FROM pragma_index_list(?) AS list JOIN pragma_index_info(list.name) AS info ORDER BY list.name, info.seqno`,
      )
      .all(table),
  }));
  return { columns, triggers };
}

function expectSound(db: SqliteDatabase): void {
  expect(db.pragma('integrity_check', { simple: true })).toBe('ok');
  expect(db.pragma('foreign_key_check')).toEqual([]);
}

const DIGEST = 'd'.repeat(64);

const TASK_COLUMNS = `seq, id, type, status, priority, requirement_id, requested_at, started_at, ended_at, attempt, agent_id,
  instance_id, instance_version, instance_revision, batch_status, name, classifiers, job`;
const SIMULATE = `'{"type":"SIMULATE_WORK","durationS":5}'`;

/** Rows that a hub of each schema version may have stored, in the terms of that version. */
const ROWS: readonly (readonly string[])[] = [
  [
    `INSERT INTO requirement VALUES (1, '[null,[]]')`,
    `INSERT INTO task (${TASK_COLUMNS}) VALUES
       (1, 'finished', 'EXECUTE_BATCH_JOB', 'FINISHED', 2, 1, 10, 20, 30, 1, 'a', 's', '9', '1', 'OK', 'Gear', '[]',
        '{"type":"EXECUTE_BATCH_JOB","model":null,"scripts":[],"additionalFiles":[],"variables":[]}'),
       (2, 'running', 'SIMULATE_WORK', 'RUNNING', 2, 1, 11, 21, NULL, 2, 'a', 's', '9', '1', NULL, NULL, '[]', ${SIMULATE}),
       (3, 'waiting', 'SIMULATE_WORK', 'WAITING', 2, 1, 12, NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL, NULL, '[]',
        ${SIMULATE})`,
    `INSERT INTO task_file (task_seq, role, position, path, digest, size_bytes) VALUES
       (1, 'OUTPUT', 0, 'out.txt', '${DIGEST}', 3), (1, 'LOG', 0, NULL, '${DIGEST}', 3)`,
    `INSERT INTO small_file VALUES ('${DIGEST}', 10, x'414243')`,
    `INSERT INTO agent VALUES ('a', '1', '2', 15, '[{"id":"s","version":"9","revision":"1","labels":["gears"]}]')`,
  ],
  [],
  [
    `INSERT INTO stored_file VALUES ('INPUT', 'model', '${DIGEST}', 3, 0, NULL, 10, 99)`,
    `INSERT INTO task_stored_file VALUES (1, 0, 'finished-result', 3)`,
  ],
  [],
  [`UPDATE task SET request_id = 'request-7' WHERE id = 'waiting'`],
  ['UPDATE commit_count SET commits = 7'],
  [`UPDATE task SET trace_context = '00-trace-span-01' WHERE id = 'waiting'`],
  [`INSERT INTO dropped_content (digest, encrypted, size_bytes) VALUES ('${DIGEST}', 0, 3)`],
  [],
  [`UPDATE task SET ignored_fields = 'timeLimt' WHERE id = 'waiting'`],
  [`INSERT INTO former_attempt VALUES (2, 1, 'a', 's', '9', '1', 13, 14, 'CRASH', 'exit code 139')`],
  [`INSERT INTO task_change VALUES (1, '[1,2]'), (3, '["removed",3]')`],
  [
    `INSERT INTO idempotency_key VALUES ('anna', 'key', 3, 12)`,
    `INSERT INTO task_statistics VALUES ('HOUR', 3600000, 3, 2, 1, 0, 0, 1, 20, 10)`,
  ],
  [
    `INSERT INTO task_notify VALUES (3, 'https://ci.example.org/hook', 'https://ci.example.org')`,
    `INSERT INTO webhook_delivery (task_id, hook, receiver, told_of, state, ended_at) VALUES
       ('finished', 'ci', 'https://ci.example.org', 30, 'DELIVERED', 31)`,
  ],
  [
    `INSERT INTO resumable_upload VALUES ('u', 'gear', 'anna', 0, 1, 9, 3, NULL, NULL, 'filename Z2Vhcg==', 10, 99, 0)`,
  ],
  [`INSERT INTO task_exclusion VALUES (3, 'a', 'its disk is full', 15)`],
  [`INSERT INTO blob_object VALUES ('${DIGEST}', 'object', 3, 10)`],
  [`INSERT INTO idempotency_key VALUES ('vera', 'key', 'removed', 12)`],
  [`INSERT INTO task_duration VALUES ('HOUR', 3600000, 'WAIT', 27, 2, 20)`],
  [
    `INSERT INTO task (${TASK_COLUMNS}) VALUES
       (4, 'canceled', 'SIMULATE_WORK', 'WAITING', 1, 1, 13, NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL, 'GEAR', '[]', ${SIMULATE})`,
    `UPDATE task SET status = 'CANCELED', ended_at = 40 WHERE id = 'canceled'`,
  ],
  [`UPDATE task SET note = 'Softer bearing' WHERE id = 'waiting'`],
  [
    `UPDATE task SET loan = '{"upstream":"hq"}' WHERE id = 'waiting'`,
    `INSERT INTO open_loan SELECT seq FROM task WHERE id = 'waiting'`,
  ],
  [
    `INSERT INTO study VALUES (1, 'study', 'Gear', NULL, 'anna', 'STOPPED', NULL, 10, 20, 2, 2, 1, 0,
       '{"classifiers":[],"timeLimitS":null,"job":{"type":"EXECUTE_BATCH_JOB"},"variables":[],"values":[],"success":[]}')`,
    `INSERT INTO study_part VALUES (1, 1, 2, '{"kind":"LIST","points":[{"load":1},{"load":2}]}')`,
    `INSERT INTO study_point VALUES
       (1, 1, 2, 0, '[1]', NULL, NULL, 'FINISHED', NULL, NULL, '[7,{"number":"NaN"},{"missing":"the log is empty"}]', 11, 12),
       (1, 2, 1, 0, '[2]', 'no result', NULL, NULL, NULL, NULL, NULL, NULL, NULL)`,
    `INSERT INTO study_file VALUES (1, 0, '${DIGEST}', 3, 0)`,
    `INSERT INTO invalidation VALUES (1, 'invalid', '{"kind":"INSTANCE","instanceId":"sim-1"}', NULL, 'anna', 30)`,
  ],
  [`UPDATE study SET running_since_at = 15`, `UPDATE study_part SET key = 'key'`],
  [`UPDATE task SET study_id = 'study', study_point = 2 WHERE id = 'waiting'`],
  [
    `UPDATE study SET notify_url = 'https://ci.example.org/hook', notify_receiver = 'https://ci.example.org#1', told_count = 1`,
    `INSERT INTO webhook_delivery (task_id, hook, receiver, told_of, state, ended_at) VALUES
       ('study.1', 'ci', 'https://ci.example.org', 30, 'DELIVERED', 31)`,
  ],
  [`UPDATE study_point SET bundle = 2 WHERE number = 2`],
  [
    `INSERT INTO allocation (id, recipe, state, reason, wanted_at) VALUES ('gears-a', 'gears', 'WANTED', '1 task waits', 50)`,
  ],
  [`UPDATE agent SET installation = '{"kind":"NPM","os":"linux","arch":"x64"}'`],
  [
    `INSERT INTO agent_rollout VALUES ('target', '0.2.0', 60, NULL, NULL)`,
    `INSERT INTO rollout_member VALUES ('target', 'a', 0, 'DONE', '0.2.0-f', NULL, NULL, 61)`,
  ],
  [`UPDATE allocation SET for_user = 'anna'`],
  [`UPDATE study SET resume_count = 1`],
];

const ACCOUNTS_ROWS: readonly (readonly string[])[] = [
  [`INSERT INTO agent_credential (agent_id, credential_hash, enrolled_at) VALUES ('a', 'hash', 10)`],
  [
    `INSERT INTO user VALUES ('anna', 'hash', '["ADMIN"]', 0, 'COMMAND', 10)`,
    `INSERT INTO session VALUES ('s', 'anna', 10, 20)`,
    `INSERT INTO session VALUES ('once', 'anna', 10, 20)`,
    `INSERT INTO refresh_token VALUES ('hash', 's', 0, 20), ('another', 's', 1, 20)`,
  ],
  [`INSERT INTO personal_token VALUES ('t', 'hash', 'anna', 'ci', 'USER', 10, 20, NULL)`],
  [`INSERT INTO session VALUES ('f', 'anna', 10, 20, 'family', 'current', 'spent', 11, 'salt')`],
  [`INSERT INTO agent_drain VALUES ('a', 10, 'anna')`],
];

/** The study in {@link ROWS}, which a database of an earlier version lacks, and the task of its point. */
async function expectStudy(
  { studies, archive, webhooks }: Pick<TaskStore, 'studies' | 'archive' | 'webhooks'>,
  version: number,
): Promise<void> {
  const study = version < 25 ? null : { id: 'study', point: 2 };
  expect(await archive.find('waiting')).toMatchObject({ study });
  const query = { page: 0, size: 10, statuses: ['WAITING'] } as const;
  const found = await Promise.all([null, 'study'].map((each) => archive.list({ ...query, study: each })));
  expect(found.map(({ totalElements }) => totalElements)).toEqual(version < 25 ? [1, 0] : [0, 1]);
  const points = await studies.points('study', { after: 0, limit: 9, outcomes: [] });
  expect(points.map(({ tries }) => tries)).toEqual(version < 23 ? [] : [2, 1]);
  expect(points.map(({ bundle }) => bundle)).toEqual(version < 23 ? [] : [null, version < 27 ? null : 2]);
  expect((await studies.partWith('study', 1))?.first).toBe(version < 23 ? undefined : 1);
  expect((await studies.partByKey('study', 'key'))?.first).toBe(version < 24 ? undefined : 1);
  const since = (await studies.find('study'))?.runningSinceMs;
  expect(since).toBe(version < 23 ? undefined : version < 24 ? 10 : 15);
  expect((await webhooks.notifyOfStudy('study'))?.url).toBe(
    version < 26 ? undefined : 'https://ci.example.org/hook',
  );
  expect(await webhooks.ofStudy('study')).toHaveLength(version < 26 ? 0 : 1);
}

/** The agent in {@link ROWS}. */
async function expectAgent(
  { agents, rollouts }: Pick<TaskStore, 'agents' | 'rollouts'>,
  version: number,
): Promise<void> {
  const installation = version < 29 ? undefined : { kind: 'NPM', os: 'linux', arch: 'x64' };
  expect(await agents.all()).toMatchObject([
    { id: 'a', seenAtMs: 15, installation, instances: [{ id: 's' }] },
  ]);
  expect(await rollouts.members('target')).toHaveLength(version < 30 ? 0 : 1);
}

describe('the database of tasks', () => {
  it('has test rows for every schema version', () => {
    expect(ROWS).toHaveLength(MIGRATIONS.length);
    expect(ACCOUNTS_ROWS).toHaveLength(ACCOUNTS_MIGRATIONS.length);
  });

  it.each(versionsOf(MIGRATIONS))('of schema version %d is migrated with its tasks', async (version) => {
    const file = join(folder, 'hub.sqlite');
    makeDatabase(file, MIGRATIONS.slice(0, version), ROWS);
    const store = openSqliteStore(file, systemRuntime.timers, pino({ level: 'silent' }));
    try {
      const { queue, archive } = store;
      expect(await archive.find('finished')).toMatchObject({
        status: 'FINISHED',
        name: 'Gear',
        batchExecutionStatus: 'OK',
        instance: { id: 's', version: '9', revision: '1', agentId: 'a' },
        requestedAtMs: 10,
        startedAtMs: 20,
        endedAtMs: 30,
      });
      const content = { digest: DIGEST, sizeBytes: 3 };
      expect(await archive.filesOf('finished')).toEqual({
        outputFiles: [{ path: 'out.txt', ...content }],
        log: content,
        ...(version < 3 ? {} : { storedFiles: [{ name: 'finished-result', sizeBytes: 3 }] }),
      });
      expect(await queue.runningOn('a')).toMatchObject([{ id: 'running', attempt: 2 }]);
      const { groups } = await queue.waitingGroups({ afterGroupId: 0, limit: 9, maxKeyBytes: 99 });
      expect(groups).toEqual([{ groupId: 1, requirementKey: '[null,[]]' }]);
      await expectAgent(store, version);
      const listed = async (filter: Partial<TaskQuery>) =>
        (await archive.list({ page: 0, size: 10, statuses: [], ...filter })).tasks.map(({ id }) => id);
      expect(await listed({ name: 'gear', type: 'EXECUTE_BATCH_JOB' })).toEqual(['finished']);
      expect(await listed({ statuses: ['RUNNING'], instances: ['s'], requestedFromMs: 11 })).toEqual([
        'running',
      ]);
      expect(await listed({ statuses: ['CANCELED'], priority: 'HIGH' })).toEqual(
        version < 20 ? [] : ['canceled'],
      );
      expect(await listed({ note: 'softer*' })).toEqual(version < 21 ? [] : ['waiting']);
      await expectStudy(store, version);

      const instance = { id: 's', version: '9', revision: '1', agentId: 'a' };
      const ref = { taskId: 'running', attempt: 2, instanceId: 's' };
      expect(await queue.requeue([{ ref, loss: 'LOSS' }])).toEqual([true]);
      expect(await queue.claim([{ taskId: 'waiting', instance, startedAtMs: 40 }])).toMatchObject([
        {
          ref: { taskId: 'waiting', attempt: 1 },
          task: {
            requestId: version < 5 ? null : 'request-7',
            traceContext: version < 7 ? null : '00-trace-span-01',
            ignoredFields: version < 10 ? null : 'timeLimt',
            note: version < 21 ? null : 'Softer bearing',
          },
        },
      ]);
      expect(await archive.remove(['finished'])).toEqual([true]);
    } finally {
      await store.close();
    }
    const fresh = openDatabase(join(folder, 'fresh.sqlite'));
    const migrated = openDatabase(file);
    expect(schemaOf(migrated)).toEqual(schemaOf(fresh));
    expectSound(migrated);
    migrated.close();
    fresh.close();
  });
});

describe('the database of users, sessions and credentials', () => {
  it.each(versionsOf(ACCOUNTS_MIGRATIONS))('of schema version %d is migrated with all rows', (version) => {
    const file = join(folder, 'accounts.sqlite');
    makeDatabase(file, ACCOUNTS_MIGRATIONS.slice(0, version), ACCOUNTS_ROWS);
    const migrated = openAccountsDatabase(file);
    const fresh = openAccountsDatabase(join(folder, 'fresh.sqlite'));
    const tables = ['agent_credential', 'user', 'personal_token', 'agent_drain'];
    const kept = tables.map((table) => migrated.prepare(`SELECT count(*) FROM ${table}`).pluck().get());
    expect(kept).toEqual([1, version > 1, version > 2, version > 4].map(Number));
    const sessions = migrated.prepare('SELECT id, family_hash, current_hash FROM session ORDER BY id').raw();
    expect(sessions.all()).toEqual([
      ...(version > 3 ? [['f', 'family', 'current']] : []),
      ...(version > 1
        ? [
            ['once', null, null],
            ['s', 'hash', 'hash'],
          ]
        : []),
    ]);
    expect(schemaOf(migrated)).toEqual(schemaOf(fresh));
    expectSound(migrated);
    migrated.close();
    fresh.close();
  });

  it('is refused when a newer hub wrote it, and stays unchanged', () => {
    const file = join(folder, 'accounts.sqlite');
    makeDatabase(file, ACCOUNTS_MIGRATIONS, ACCOUNTS_ROWS);
    const newer = new Database(file);
    newer.pragma('user_version = 99');
    newer.close();
    expect(() => openAccountsDatabase(file)).toThrow(
      new StartRefused(
        `the database ${file} has schema version 99, this hub knows up to ${ACCOUNTS_MIGRATIONS.length}: start the newer ` +
          'hub that wrote it, or restore a backup from before the update',
      ),
    );
    const untouched = new Database(file);
    expect(untouched.pragma('user_version', { simple: true })).toBe(99);
    untouched.close();
  });
});

it('an interrupted migration leaves nothing behind, and is repeated', () => {
  const file = join(folder, 'hub.sqlite');
  makeDatabase(file, MIGRATIONS, ROWS);
  const db = new Database(file);
  const before = schemaOf(db);
  const next = 'CREATE TABLE added (id TEXT) STRICT;';
  expect(() => migrate(db, file, [...MIGRATIONS, `${next} INSERT INTO nowhere VALUES (1);`])).toThrow(
    'nowhere',
  );
  expect(db.pragma('user_version', { simple: true })).toBe(MIGRATIONS.length);
  expect(schemaOf(db)).toEqual(before);
  migrate(db, file, [...MIGRATIONS, next]);
  expect(db.pragma('user_version', { simple: true })).toBe(MIGRATIONS.length + 1);
  db.close();
});

it('a study that ran again before its resumes were counted has the failures since then', async () => {
  const file = join(folder, 'hub.sqlite');
  const before = MIGRATIONS.slice(0, 31);
  const failed = `UPDATE study_point SET outcome = 'SOLVER_FAILED', ended_at = number + 13`;
  const rows = [...ROWS.slice(0, 30), [`UPDATE study SET state = 'RUNNING', ended_at = NULL`, failed]];
  makeDatabase(file, before, rows);
  const store = openSqliteStore(file, systemRuntime.timers, pino({ level: 'silent' }));
  expect(await store.studies.counts('study')).toEqual({ SOLVER_FAILED: 2 });
  expect(await store.studies.failedSinceResume('study')).toBe(1);
  await store.close();
});

/** The first characters of the SHA-256 of each. A new migration adds one; none ever changes. */
it('no migration has changed since it was released', () => {
  const digest = (sql: string) => createHash('sha256').update(sql).digest('hex').slice(0, 12);
  expect(MIGRATIONS.map(digest)).toEqual([
    '260733b1a901',
    '8764fe7ab4f3',
    'ff103d4debbc',
    'ec5fdd8c5949',
    'c80d0e514e08',
    'f16ce6e12c32',
    '82484c7290aa',
    '82d627e2394b',
    '03bccb8f7add',
    '6eed8241b3c9',
    'eb52857c2c66',
    'c681742e305d',
    '4cb8cc7f19d7',
    'b15d9c1a899c',
    'ece773a48e65',
    'c3307091a0c1',
    'c535cf9defc0',
    '40e03c2bae08',
    'c4272f6879d8',
    '1f8e596d1cc2',
    'dcd319b000a9',
    'fa526a920133',
    '8999835b1357',
    '358af4e8a871',
    '16c358486c62',
    '45cc4033f40e',
    '39521fe9461f',
    '29dc1370986d',
    '2622c2a1d8cd',
    'a4de8f61bf71',
    '0dc7861054be',
    '3da014326825',
  ]);
  expect(ACCOUNTS_MIGRATIONS.map(digest)).toEqual([
    '3ac19432980a',
    '85f1e9eeac31',
    'cd1bc72737cb',
    '213cd10daf76',
    '0dee0f492980',
  ]);
});
