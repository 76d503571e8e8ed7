/** A hub on PostgreSQL as packages/docs/postgresql.md describes it: real programs, a real server, and its restarts. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { parse, stringify } from 'yaml';
import { FakeAgent } from '../support/agents/fake-agent.js';
import { eventually } from '../support/eventually.js';
import { restClient } from '../support/interface/rest-client.js';
import { codeBlock } from '../support/pages/code-blocks.js';
import { endPrograms, type HubProgram, startHub, startProgram } from '../support/programs/programs.js';
import { runCommand } from '../support/programs/run-command.js';
import { keepSecret } from '../support/secrets.js';
import {
  hasPostgres,
  type OwnPostgresServer,
  queryAt,
  startPostgres,
  type TestDatabase,
} from '../support/stores/postgres.js';
import { type TemporaryFolder, temporaryFolder } from '../support/temporary-folder.js';

const PAGE = 'packages/docs/postgresql.md';
const HUB = 'hub/bin/workbench-hub.js';
const PASSWORD = 'of-the-role-of-the-hub';

let server: OwnPostgresServer;
let root: TestDatabase;
let folder: TemporaryFolder;

describe.skipIf(!hasPostgres)('a hub on PostgreSQL', () => {
  beforeAll(async () => {
    server = await startPostgres({ fsync: 'on', full_page_writes: 'on' });
    root = await server.create();
    keepSecret(PASSWORD);
  });
  afterAll(() => server.end());
  beforeEach(async () => {
    folder = await temporaryFolder();
    const [role = '', database = ''] = codeBlock(PAGE, 'CREATE ROLE hub').trim().split('\n');
    await root.query(role.replace('choose-a-password', PASSWORD));
    await root.query(database);
    writeFileSync(at('database-password'), `${PASSWORD}\n`, { mode: 0o600 });
  });
  afterEach(async () => {
    await endPrograms();
    await root.query('DROP DATABASE hub WITH (FORCE)');
    await root.query('DROP ROLE hub');
    await folder.remove();
  });

  const at = (name: string) => join(folder.path, name);
  /** The configuration of the page, for this server, which has no TLS. */
  const settings = () => ({
    ...(parse(codeBlock(PAGE, '# hub.yaml')) as { store: string }),
    store: `postgres://hub@127.0.0.1:${server.port}/hub`,
    storePasswordFile: at('database-password'),
  });
  const startOnPostgres = () => startHub(folder.path, settings());
  const create = (hub: HubProgram) => restClient(hub.baseUrl).createSimulateWork({ duration: 1 });
  const taskOf = async (hub: HubProgram, id: string) =>
    (await restClient(hub.baseUrl).call(`/api/2.0/workbench/task/${id}`)).json();
  const command = (...args: string[]) => {
    writeFileSync(at('command.yaml'), stringify({ dataDir: at('hub'), server: { port: 0 }, ...settings() }));
    return runCommand(HUB, ['--config', at('command.yaml'), ...args], { cwd: folder.path });
  };

  it('is checked, started, killed and started again, and still has its tasks', async () => {
    const before = await command('store', 'check');
    expect(before.stdout).not.toMatch(/FAULT|WARNING/);
    expect(before).toMatchObject({ code: 0, stderr: '' });
    expect(before.stdout).toContain('ok       tables: there are none yet');
    const hub = await startOnPostgres();
    const id = await create(hub);
    await hub.kill();
    const again = await startOnPostgres();
    expect(await taskOf(again, id)).toMatchObject({ id, status: 'WAITING' });
    const after = await command('store', 'check');
    expect(after.stdout).toContain('ok       tables: up to date');
    const { stdout } = await command('doctor');
    expect(stdout).toContain('ok       notifications: they arrive');
    expect(stdout).toContain('ok       database of tasks and users: whole, schema version');
    expect(stdout).toContain('ok       clocks of agents');
  });

  it('refuses a second hub and backups in words, and shares its users with commands', async () => {
    await startOnPostgres();
    writeFileSync(
      at('second.yaml'),
      stringify({ dataDir: at('second'), server: { port: 0 }, ...settings() }),
    );
    const second = startProgram(HUB, ['--config', at('second.yaml')], folder.path);
    expect(await second.ended).toBe(2);
    expect(second.lines.map(({ msg }) => msg).join('\n')).toMatch(
      /the hub [0-9a-f]{12} runs on the same database and has its blobs in its dataDir, this one in its dataDir: several hubs need one place/,
    );
    expect(await command('store', 'migrate')).toMatchObject({
      ...{ code: 0, stdout: 'The tables are up to date.\n' },
    });
    for (const name of ['backup', 'restore']) {
      const refused = await command(
        name,
        at('database-password'),
        ...(name === 'backup' ? ['--overwrite'] : []),
      );
      expect(refused).toMatchObject({
        code: 2,
        stderr: expect.stringContaining('backup and restore are for the store sqlite'),
      });
      expect(refused.stderr).toContain('pg_dump');
    }
    expect((await command('agent', 'drain', 'host-1')).stdout).toContain('Agent host-1 is drained.');
    expect((await command('agent', 'list')).stdout).toContain('host-1');
  });

  it('says in its health that the server is away, refuses what is new, and goes on with every task', async () => {
    const hub = await startOnPostgres();
    const acknowledged = [await create(hub)];
    const health = async () => {
      const { json } = await restClient(hub.baseUrl).call('/actuator/health');
      return (json() as { components: { db?: { status: string } } }).components.db?.status;
    };
    const readiness = async () => (await fetch(`${hub.baseUrl}/readyz`)).status;
    expect([await health(), await readiness()]).toEqual(['UP', 200]);
    await server.stop();
    await eventually(async () => (await readiness()) === 503);
    expect(await health()).toBe('DOWN');
    const refused = await fetch(`${hub.baseUrl}/api/2.0/workbench/task/simulate-work/create`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: '{"duration":1}',
    });
    expect(refused.status).toBe(503);
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
    const during = Promise.allSettled([create(hub), create(hub)]);
    await server.start();
    for (const outcome of await during) if (outcome.status === 'fulfilled') acknowledged.push(outcome.value);
    await eventually(async () => acknowledged.push(await create(hub)));
    await eventually(async () => (await readiness()) === 200);
    expect(await health()).toBe('UP');
    for (const id of acknowledged) expect(await taskOf(hub, id)).toMatchObject({ id, status: 'WAITING' });
    expect(hub.process.exitCode).toBeNull();
  });

  it('ends with code 1 and says why when its server has lost claims in a crash, and starts again', async () => {
    const hub = await startOnPostgres();
    const token = readFileSync(hub.tokenFile, 'utf8').trim();
    const agent = await FakeAgent.join({ address: hub.baseUrl, token });
    const id = await create(hub);
    expect((await agent.hear('assign')).ref.taskId).toBe(id);
    // As the crash leaves it: the claim has not reached the disk of the server.
    await queryAt(server.url('hub'), "UPDATE lane SET batch = batch - 1 WHERE name = 'claim'");
    await create(hub).catch(() => undefined);
    expect(await hub.ended).toBe(1);
    const why =
      'the hub ends, because it cannot use its database any more: the database server has crashed and lost claims';
    expect(hub.lines.filter(({ msg }) => msg?.startsWith(why))).toHaveLength(1);
    const again = await startOnPostgres();
    expect(await taskOf(again, id)).toMatchObject({ id });
    expect(await taskOf(again, await create(again))).toMatchObject({ status: 'WAITING' });
  });

  it('has the address of its database from the environment', async () => {
    writeFileSync(at('local.yaml'), stringify({ dataDir: at('local') }));
    const WORKBENCH_HUB_STORE = `postgres://hub:${PASSWORD}@127.0.0.1:${server.port}/hub`;
    const args = ['--config', at('local.yaml'), 'store', 'check'];
    const check = startProgram(HUB, args, folder.path, { WORKBENCH_HUB_STORE });
    expect(await check.ended).toBe(0);
    const location = `postgres://hub@127.0.0.1:${server.port}/hub`;
    expect(check.printed).toContain(`ok       connection: the database ${location} answers`);
  });

  it('without its server is refused within seconds, and the password is never shown', async () => {
    writeFileSync(
      at('away.yaml'),
      stringify({ dataDir: at('away'), store: `postgres://hub:${PASSWORD}@127.0.0.1:1/hub` }),
    );
    const startedAt = performance.now();
    const away = startProgram(HUB, ['--config', at('away.yaml')], folder.path);
    expect(await away.ended).toBe(2);
    expect(performance.now() - startedAt).toBeLessThan(30_000);
    expect(away.lines.map(({ msg }) => msg).join('\n')).toContain(
      'the database postgres://hub@127.0.0.1:1/hub cannot be used: connect ECONNREFUSED 127.0.0.1:1; start PostgreSQL',
    );
    const checked = await runCommand(HUB, ['--config', at('away.yaml'), 'store', 'check'], {
      cwd: folder.path,
    });
    expect(checked).toMatchObject({
      code: 1,
      stdout: expect.stringMatching(/^FAULT {4}connection: the database/),
    });
    expect(checked.stdout).not.toContain(PASSWORD);
  });
});
