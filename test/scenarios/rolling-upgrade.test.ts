/** Hubs of this build beside hubs of later versions on one database: the same program with migrations of later schema generations. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { buildInfo } from '@workbench-hub/shared/runtime/build-info';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { FakeAgent } from '../support/agents/fake-agent.js';
import { eventually } from '../support/eventually.js';
import { CLUSTER_KEY } from '../support/hubs/cluster-key.js';
import { laterHub } from '../support/hubs/later-hub.js';
import { logIn } from '../support/hubs/login.js';
import { type RunningHub, startHub, USERS } from '../support/hubs/running-hub.js';
import { Api } from '../support/interface/api.js';
import { ANSWERS, callAt, walkThroughInterface } from '../support/interface/interface-walk.js';
import {
  endPrograms,
  type HubProgram,
  startProgram,
  startHub as startProgramHub,
} from '../support/programs/programs.js';
import { hasPostgres, migratedDatabase, type TestDatabase } from '../support/stores/postgres.js';
import { type TemporaryFolder, temporaryFolder } from '../support/temporary-folder.js';

const HUB = 'hub/bin/workbench-hub.js';
const JOB = { fileNames: [], scripts: [{ scriptFileName: 'run.js', scriptContent: '1' }] };

/** A hub, as clients and agents reach it. */
type Door = Pick<RunningHub, 'address' | 'token'>;

describe.runIf(hasPostgres)('a rolling upgrade', () => {
  let folder: TemporaryFolder;
  let database: TestDatabase;
  let olds: RunningHub[];
  let folders: number;
  beforeEach(async () => {
    folder = await temporaryFolder();
    database = await migratedDatabase();
    olds = [];
    folders = 0;
  });
  afterEach(async () => {
    for (const hub of olds) await hub.stop();
    await endPrograms();
    await database.drop();
    await folder.remove();
  });

  const config = () => ({
    store: database.url,
    storage: { folder: join(folder.path, 'blobs'), encryptionKey: CLUSTER_KEY, input: { enabled: true } },
  });
  const ownFolder = () => {
    const path = join(folder.path, `${++folders}`);
    mkdirSync(path);
    return path;
  };

  async function startOld(dataDir = ownFolder()): Promise<RunningHub> {
    const hub = await startHub({ users: USERS, dataDir, config: config() });
    olds.push(hub);
    return hub;
  }

  /** `like`: the hub whose agents and users it has. */
  async function startLater(like: RunningHub, ahead: 1 | 2 = 1): Promise<HubProgram & Door> {
    const { agents, security } = like.config;
    const more = { agents: { token: agents.token }, security: { enabled: true, users: security.users } };
    const program = await startProgramHub(ownFolder(), { ...config(), ...more }, 0, [], laterHub(ahead));
    return Object.assign(program, { address: program.baseUrl, token: like.token });
  }

  const applied = async () =>
    (await database.query<{ id: string }>("SELECT id FROM schema_migration WHERE id >= '9'")).map(
      ({ id }) => id,
    );

  async function walk(hub: Door, reader: string): Promise<void> {
    const agent = await FakeAgent.join(hub, { answers: ANSWERS });
    await walkThroughInterface((...call) => callAt(hub.address, ...call), agent);
    await agent.leave(reader);
  }

  it('lets both versions serve everything, and is finished when the last old hub has ended', async () => {
    const dataDir = ownFolder();
    const old = await startOld(dataDir);
    const token = (await logIn(new Api(old), 'anna')).accessToken;
    const before = await new Api(old, token).simulateWork({
      classifiers: [{ type: 'VERSION', value: 'none' }],
    });
    const later = await startLater(old);
    expect(await applied()).toEqual(['9001-mark']);
    for (const hub of [old, later]) await walk(hub, token);

    const ofLater = await FakeAgent.join(later, { id: 'of-later', instances: [{ id: 'later-1' }] });
    const run = async (at: Door, agent: FakeAgent, pollAt: Door) => {
      const id = await new Api({ address: at.address }, token).batchJob(JOB);
      const result = new Api({ address: pollAt.address }, token).get(
        `/api/2.0/workbench/task/execute-batch-job/${id}/result?timeout=20`,
      );
      const { ref } = await agent.hear('assign', (assigned) => assigned.ref.taskId === id);
      agent.report(ref, 'OK');
      expect((await result).body).toMatchObject({ status: 'FINISHED' });
      return id;
    };
    const first = await run(old, ofLater, old);

    // The old hub starts again beside the new one, which schedules now.
    await old.stop();
    const again = await startOld(dataDir);
    expect(await new Api(again, token).task(first)).toMatchObject({ status: 'FINISHED' });
    await ofLater.leave(token);
    const ofOld = await FakeAgent.join(again, { id: 'of-old', instances: [{ id: 'old-1' }] });
    const second = await run(later, ofOld, later);
    await ofOld.leave(token);
    expect(await applied()).toEqual(['9001-mark']);

    await again.stop();
    await eventually(async () => (await applied()).includes('9003-whole-marks'));
    expect(await applied()).toEqual(['9001-mark', '9002-older-marks', '9003-whole-marks']);
    const parts = await database.query<{ rows: number }>('SELECT rows FROM marked_part');
    expect(parts.length).toBeGreaterThan(1);
    expect(Math.max(...parts.map(({ rows }) => rows))).toBe(3);
    const atLater = new Api({ address: later.address }, token);
    for (const id of [first, second]) expect(await atLater.task(id)).toMatchObject({ status: 'FINISHED' });
    expect(await atLater.task(before)).toMatchObject({ id: before });
    await expect(startOld(dataDir)).rejects.toThrow(
      /^a newer hub \(version 2\.0\.0-next\) has removed from the database \S+ what hubs of schema generation 1, as this one, need \(9003-whole-marks\): start the newer hub/,
    );
  });

  it('refuses hubs that are two generations apart, in words, and lets neighbors work', async () => {
    const old = await startOld();
    const token = (await logIn(new Api(old), 'anna')).accessToken;
    await expect(startLater(old, 2)).rejects.toThrow(
      /works beside 2 at least: upgrade those to a version of generation 2 first, or stop all of them/,
    );
    expect(await applied()).toEqual([]);
    await old.stop();
    const latest = await startLater(old, 2);
    expect(await applied()).toHaveLength(4);
    await expect(startOld()).rejects.toThrow(
      /^a newer hub \(version 3\.0\.0-next\) has migrated the database \S+ to schema generation 3 \(9101-later\), and this hub has generation 1, which works on 2 at most/,
    );
    await startLater(old, 1);
    const { body } = await new Api({ address: latest.address }, token).get('/api/x/hubs');
    const hubs = body['content'] as { status: string; version: string }[];
    expect(hubs.map(({ status, version }) => [status, version]).sort()).toEqual([
      ['UP', '2.0.0-next'],
      ['UP', '3.0.0-next'],
    ]);
  });

  it('is checked and made by commands of each version, beside hubs that run', async () => {
    const old = await startOld();
    const token = (await logIn(new Api(old), 'anna')).accessToken;
    const file = join(ownFolder(), 'hub.yaml');
    writeFileSync(file, JSON.stringify({ ...config(), dataDir: join(folder.path, 'command') }));
    const command = async (verb: 'check' | 'migrate', ahead: 0 | 1 | 2) => {
      const args = ['store', verb, '--config', file];
      const { script, env } = ahead === 0 ? { script: HUB, env: {} } : laterHub(ahead);
      const program = startProgram(script, args, folder.path, env);
      const code = await program.ended;
      return { code, text: program.printed.join('\n') };
    };
    const names = `\\w+ \\(version ${buildInfo.version.replaceAll('.', '\\.')}\\)`;
    expect((await command('check', 1)).text).toContain('1 migrations are missing; the next start of the hub');
    expect((await command('check', 2)).text).toMatch(
      new RegExp(`work the hub ${names} of schema generation 1`),
    );
    expect(await command('migrate', 2)).toMatchObject({
      code: 2,
      text: expect.stringContaining('works beside 2 at least: upgrade those'),
    });
    expect(await applied()).toEqual([]);

    const rest = `The rest can be done when these hubs have ended, by the same command: ${names}\\.`;
    expect(await command('migrate', 1)).toMatchObject({
      code: 0,
      text: expect.stringMatching(new RegExp(`^Done: 9001-mark\\.\n${rest}$`)),
    });
    await new Api(old, token).simulateWork();
    expect((await command('check', 0)).text).toContain(
      'a newer hub (version 2.0.0-next) has extended them, beside which this one works',
    );
    expect((await command('check', 1)).text).toContain(
      '2 migrations follow when no hub of an earlier version runs',
    );
    expect(await command('migrate', 0)).toMatchObject({ code: 0, text: 'The tables are up to date.' });

    await old.stop();
    expect((await command('migrate', 1)).text).toBe('Done: 9002-older-marks, 9003-whole-marks.');
    expect((await command('check', 0)).text).toContain('has removed from the database');
    expect((await command('migrate', 0)).code).toBe(2);
  });

  it('is tried with a program of a later version', async () => {
    const { script, env } = laterHub(1);
    const program = startProgram(script, ['--version'], folder.path, env);
    expect(await program.ended).toBe(0);
    expect(program.printed).toEqual(['2.0.0-next']);
  });
});
