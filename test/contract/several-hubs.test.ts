/** The interface of several hubs on one database: each of them serves any request. */
import { readdir, readFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { buildInfo } from '@workbench-hub/shared/runtime/build-info';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { FakeAgent } from '../support/agents/fake-agent.js';
import { eventually } from '../support/eventually.js';
import { CLUSTER_KEY } from '../support/hubs/cluster-key.js';
import { logIn, refresh, statusFor } from '../support/hubs/login.js';
import { type RunningHub, startHub, USERS } from '../support/hubs/running-hub.js';
import { Api, LOCAL_TIMESTAMP } from '../support/interface/api.js';
import { EventReader } from '../support/interface/event-reader.js';
import { formWithFile } from '../support/interface/forms.js';
import { rawSender } from '../support/interface/raw-request.js';
import { begin, sendPart, sha256Of, state, UPLOADS } from '../support/interface/resumable-uploads.js';
import { hasPostgres, migratedDatabase, type TestDatabase } from '../support/stores/postgres.js';
import { type TemporaryFolder, temporaryFolder } from '../support/temporary-folder.js';

const RESULT = '/api/2.0/workbench/task/execute-batch-job';
const SHUTDOWN = '/api/2.0/admin/prepare-shutdown';
/** Host of the load balancer. */
const PUBLIC = 'hub.example.com';
/** Time without progress after which an upload is lost whose hub does not run. */
const LOST_WITH_HUB_MS = 15 * 60_000;

describe.runIf(hasPostgres)('several hubs on one database', () => {
  let folder: TemporaryFolder;
  let database: TestDatabase;
  const hubs: RunningHub[] = [];
  let tokens: string[];

  const start = async (rest: object = {}) =>
    startHub({
      users: USERS,
      config: {
        store: database.url,
        storage: { folder: join(folder.path, 'blobs'), encryptionKey: CLUSTER_KEY, input: { enabled: true } },
        server: { publicUrl: `https://${PUBLIC}` },
        ...rest,
      },
    });
  /** The interface of a hub, for an administrator who has logged in at the first one. */
  const at = (index: number) => new Api(hubs[index] as RunningHub, tokens[0]);
  const job = { fileNames: [], scripts: [{ scriptFileName: 'run.js', scriptContent: '1' }] };

  beforeAll(async () => {
    folder = await temporaryFolder();
    database = await migratedDatabase();
    for (let index = 0; index < 3; index++) hubs.push(await start());
    tokens = [(await logIn(new Api(hubs[0] as RunningHub), 'anna')).accessToken];
  });
  afterAll(async () => {
    for (const hub of hubs) await hub.stop();
    await database?.drop();
    await folder?.remove();
  });

  async function joinedAt(index: number, id: string, instances = [{ id: `${id}-1` }]): Promise<FakeAgent> {
    const agent = await FakeAgent.join(hubs[index] as RunningHub, { id, instances });
    for (const api of [at(0), at(1), at(2)]) {
      await eventually(async () => {
        const { body } = await api.get(`/api/2.0/workbench/node/instance/${id}-1`);
        return body['status'] === 'UP';
      });
    }
    return agent;
  }

  async function begunAt(
    index: number,
    values: Readonly<Record<string, string>>,
    bytes: number,
  ): Promise<string> {
    const { status, headers, text } = await begin(values, bytes, { api: at(index) });
    expect(status, text).toBe(201);
    return new URL(headers.get('location') ?? '', `${hubs[index]?.address}${UPLOADS}`).pathname;
  }

  it('list each other, with one scheduler', async () => {
    await eventually(async () => {
      const { body } = await at(2).get('/api/x/hubs');
      const content = body['content'] as { status: string; scheduler: boolean; responding: boolean }[];
      expect(content.map(({ status }) => status)).toEqual(['UP', 'UP', 'UP']);
      expect(content.filter(({ responding }) => responding)).toHaveLength(1);
      return content.filter(({ scheduler }) => scheduler).length === 1;
    });
  });

  it('list the version, agents and running tasks of each, and the address at which agents reach it', async () => {
    const listed = async ({ config }: RunningHub) => {
      const id = (await readFile(join(config.dataDir, 'hub-id'), 'utf8')).trim();
      const { body } = await at(2).get('/api/x/hubs');
      return (body['content'] as { id: string }[]).find((hub) => hub.id === id);
    };
    const agent = await joinedAt(1, 'listed');
    const id = await at(0).batchJob(job);
    const { ref } = await agent.hear('assign', (assigned) => assigned.ref.taskId === id);
    const [first, second] = hubs as [RunningHub, RunningHub];
    const { version } = buildInfo;
    expect(await listed(first)).toMatchObject({
      ...{ version, address: first.address, agents: 0, runningTasks: 0 },
    });
    expect(await listed(second)).toMatchObject({
      ...{ version, address: second.address, agents: 1, runningTasks: 1 },
    });
    await agent.end(ref, 'OK');
    await agent.leave(tokens[0]);

    const everywhere = await start({ server: { host: '0.0.0.0' } });
    const { port } = new URL(everywhere.address);
    expect(await listed(everywhere)).toMatchObject({ address: `http://${hostname()}:${port}` });
    await everywhere.stop();
    const named = await start({ server: { address: 'https://hub-4.example.com' } });
    expect(await listed(named)).toMatchObject({ address: 'https://hub-4.example.com' });
    await named.stop();
  });

  it('show metrics of their own, and of all', async () => {
    const agent = await joinedAt(1, 'counted');
    const gauge = async (index: number, name: string) => {
      const { text } = await at(index).get('/actuator/prometheus');
      const line = text.split('\n').find((each) => each.startsWith(`workbench_hub_${name} `));
      return Number(line?.split(' ')[1]);
    };
    const ofEach = (name: string) => Promise.all([0, 1, 2].map((index) => gauge(index, name)));
    expect(await ofEach('cluster_hubs{status="UP"}')).toEqual([3, 3, 3]);
    expect(await ofEach('cluster_hubs{status="DOWN"}')).toEqual([0, 0, 0]);
    expect(await ofEach(`cluster_versions{version="${buildInfo.version}"}`)).toEqual([3, 3, 3]);
    expect(await ofEach('cluster_schedulers')).toEqual([1, 1, 1]);
    expect((await ofEach('scheduler')).sort()).toEqual([0, 0, 1]);
    expect(new Set(await ofEach('cluster_term')).size).toBe(1);
    expect(await ofEach('agents_connected')).toEqual([0, 1, 0]);
    expect(await ofEach('agents{status="UP"}')).toEqual([1, 1, 1]);
    for (const offset of await ofEach('clock_offset_seconds')) expect(Math.abs(offset)).toBeLessThan(2);
    await agent.leave(tokens[0]);
  });

  it('show the same start of an instance', async () => {
    const agent = await joinedAt(1, 'started');
    const startAt = async (index: number) =>
      (await at(index).get('/api/2.0/workbench/node/instance/started-1')).body['startedDatetime'];
    const starts = await Promise.all([0, 1, 2].map(startAt));
    expect(starts[0]).toMatch(LOCAL_TIMESTAMP);
    expect(new Set(starts).size).toBe(1);
    const late = await start();
    hubs.push(late);
    expect(await startAt(3)).toBe(starts[0]);
    hubs.pop();
    await late.stop();
    await agent.leave(tokens[0]);
  });

  it('share logins, and what ends them', async () => {
    const { accessToken, cookie } = await logIn(new Api(hubs[1] as RunningHub), 'ulla');
    expect(await statusFor(new Api(hubs[2] as RunningHub), accessToken)).toBe(200);
    expect((await refresh(new Api(hubs[0] as RunningHub), cookie)).status).toBe(200);
  });

  it('run a task that one of them accepts on an agent of another, for a client that waits at a third', async () => {
    const agent = await joinedAt(1, 'across');
    const id = await at(2).batchJob(job);
    const result = at(0).get(`${RESULT}/${id}/result?timeout=20`);
    const { ref } = await agent.hear('assign');
    expect(ref.taskId).toBe(id);
    const content = Buffer.alloc(100_000, 'wing');
    const file = await agent.upload(content);
    agent.report(ref, 'OK', { outputFiles: [{ path: 'wing.txt', ...file }] });
    expect((await result).body).toMatchObject({ status: 'FINISHED' });
    for (const api of [at(0), at(1), at(2)]) {
      const { status, text } = await api.get(`/api/x/tasks/${id}/outputs/wing.txt`);
      expect(status).toBe(200);
      expect(text).toBe(content.toString());
    }
    await agent.leave(tokens[0]);
  });

  it('have one stream of events, which goes on at another hub', async () => {
    const reader = await EventReader.open(hubs[0] as RunningHub, '/api/x/events', { token: tokens[0] ?? '' });
    const id = await at(1).simulateWork();
    await reader.find(({ data }) => JSON.stringify(data).includes(id));
    const { lastId } = reader;
    reader.close();
    await at(2).delete(`/api/2.0/workbench/task/${id}/cancel`);
    const next = await EventReader.open(hubs[2] as RunningHub, '/api/x/events', {
      token: tokens[0] ?? '',
      lastEventId: lastId,
    });
    const event = await next.find(({ data }) => JSON.stringify(data).includes(id));
    expect(JSON.stringify(event.data)).toContain('CANCELED');
    next.close();
  });

  it('remove overwritten and deleted files within seconds, whichever of them got the request', async () => {
    const files = async () =>
      (await readdir(join(folder.path, 'blobs'), { recursive: true })).filter((path) => path.length > 60);
    const before = (await files()).length;
    for (let count = 0; count < 6; count++) {
      const form = formWithFile('big.bin', Buffer.alloc(100_000, `version ${count}`));
      const { status } = await at(count % 3).call(
        'POST',
        '/api/2.0/storage/input/upload?overwrite=true',
        form,
      );
      expect(status).toBe(204);
    }
    await eventually(async () => (await files()).length === before + 1);
    await at(1).delete('/api/2.0/storage/input/big.bin/delete');
    await eventually(async () => (await files()).length === before);
  });

  it('take the parts of a resumable upload at the hub at which it began, and lose nothing at the others', async () => {
    const content = Buffer.alloc(100_000, 'mesh');
    const values = { filename: 'mesh.bin', sha256: sha256Of(content) };
    const path = await begunAt(0, values, content.length);
    expect((await sendPart(path, 0, content.subarray(0, 60_000), { api: at(0) })).status).toBe(204);
    for (const index of [1, 2]) {
      const refused = await sendPart(path, 60_000, content.subarray(60_000), { api: at(index) });
      expect(refused.status, refused.text).toBe(503);
      expect(refused.headers.get('retry-after')).toBe('1');
      expect(refused.text).toContain('the upload goes on at hub');
      expect((await state(path, at(index))).headers.get('upload-offset')).toBe('60000');
    }
    expect((await sendPart(path, 60_000, content.subarray(60_000), { api: at(0) })).status).toBe(204);
    expect((await at(2).get('/api/x/storage/inputs/mesh.bin')).text).toBe(content.toString());
  });

  it('would lose a resumable upload that did not name its hub', async () => {
    const path = await begunAt(0, { filename: 'nowhere.bin' }, 100_000);
    expect((await sendPart(path, 0, Buffer.alloc(50_000), { api: at(0) })).status).toBe(204);
    await database.query(`UPDATE resumable_upload SET hub = NULL WHERE name = 'nowhere.bin'`);
    expect((await sendPart(path, 50_000, Buffer.alloc(50_000), { api: at(1) })).status).toBe(404);
    expect((await state(path, at(0))).status).toBe(404);
  });

  it('end a resumable upload of another hub', async () => {
    const path = await begunAt(1, { filename: 'half.bin' }, 100_000);
    await sendPart(path, 0, Buffer.alloc(50_000), { api: at(1) });
    expect((await at(2).call('DELETE', path, { headers: { 'tus-resumable': '1.0.0' } })).status).toBe(204);
    expect((await state(path, at(1))).status).toBe(404);
  });

  it('lose a resumable upload 15 minutes after its latest progress, when its hub does not run', async () => {
    const content = Buffer.alloc(100_000, 'half');
    const leaving = await start();
    hubs.push(leaving);
    const path = await begunAt(3, { filename: 'left.bin' }, content.length);
    await sendPart(path, 0, content.subarray(0, 50_000), { api: at(3) });
    hubs.pop();
    await leaving.stop();
    const later = (ms: number) =>
      database.query(`UPDATE resumable_upload SET expires_at = expires_at - ${ms} WHERE name = 'left.bin'`);
    const rest = () => sendPart(path, 50_000, content.subarray(50_000), { api: at(0) });
    await later(LOST_WITH_HUB_MS - 60_000);
    const refused = await rest();
    expect(refused.status).toBe(503);
    expect(refused.text).toContain('which does not run at the moment; try again, or begin another upload');
    await later(60_000);
    expect((await rest()).status).toBe(404);
    expect((await state(path, at(1))).status).toBe(404);
  });

  it('command the instances of each other', async () => {
    const agent = await joinedAt(2, 'commanded');
    const stopped = at(0).call('PATCH', '/api/2.0/workbench/node/instance/commanded-1/stop');
    const { requestId, request } = await agent.hear('request');
    expect(request).toMatchObject({ kind: 'instanceCommand', command: 'stop' });
    agent.say({ type: 'reply', requestId, error: null, text: null });
    expect((await stopped).status).toBe(202);
    await agent.leave(tokens[0]);
  });

  it('show the audit log of all, page by page at any of them', async () => {
    const { accessToken } = await logIn(new Api(hubs[0] as RunningHub), 'ulla');
    const byUlla = (index: number) => new Api(hubs[index] as RunningHub, accessToken);
    const tasks: string[] = [];
    for (const index of [0, 1, 2, 0]) tasks.push(await byUlla(index).simulateWork());
    const action = encodeURIComponent('DELETE /api/2.0/workbench/task/{id}/cancel');
    const page = async (index: number, query: string) =>
      (await at(index).get(`/api/x/audit?user=ulla&action=${action}${query}`)).body as {
        readonly entries: { readonly resource: string }[];
        readonly next?: string;
      };
    for (const [index, id] of tasks.entries()) {
      await byUlla(index % 3).delete(`/api/2.0/workbench/task/${id}/cancel`);
      // Each hub writes its entries a moment after its response: those of another may come first.
      await eventually(async () => (await page(1, '')).entries.length === index + 1);
    }
    const first = await page(2, '&limit=3');
    const second = await page(1, `&before=${first.next}`);
    expect(second.next).toBeUndefined();
    const shown = [...first.entries, ...second.entries].map(({ resource }) => resource.split('/').at(-2));
    expect(shown).toEqual([...tasks].reverse());
  });

  it('are prepared for a shutdown one by one, or together', async () => {
    await at(1).post(`${SHUTDOWN}/change`, { initiated: true });
    expect((await at(1).post('/api/x/tasks', { job: { type: 'SIMULATE_WORK', duration: 1 } })).status).toBe(
      423,
    );
    expect((await at(0).get(SHUTDOWN)).body).toEqual({
      initiated: false,
      scope: 'hub',
      hub: expect.any(String),
    });
    await at(1).post(`${SHUTDOWN}/change`, { initiated: false });
    await at(1).post(`${SHUTDOWN}/change?scope=cluster`, { initiated: true });
    await eventually(async () => (await at(0).get(SHUTDOWN)).body['initiated'] === true);
    for (const index of [0, 1, 2]) {
      const { status } = await at(index).post('/api/x/tasks', {
        job: { type: 'SIMULATE_WORK', duration: 1 },
      });
      expect(status).toBe(423);
    }
    await at(2).post(`${SHUTDOWN}/change?scope=cluster`, { initiated: false });
    await eventually(async () => (await at(0).get(SHUTDOWN)).body['initiated'] === false);
  });

  it('are prepared together by requests to their public address', async () => {
    const ask = async (index: number, method: string, target: string, host: string, json?: object) => {
      const { send, close } = rawSender((hubs[index] as RunningHub).address);
      const body = json && JSON.stringify(json);
      const headers = { host, authorization: `Bearer ${tokens[0]}`, 'content-type': 'application/json' };
      const { text } = await send({ method, target, headers, body });
      close();
      return JSON.parse(text) as Record<string, unknown>;
    };
    const change = (index: number, initiated: boolean, host: string) =>
      ask(index, 'POST', `${SHUTDOWN}/change`, host, { initiated });
    const statusAt = (index: number, host: string) => ask(index, 'GET', SHUTDOWN, host);
    const ofHub2 = await change(2, true, 'hub-2.internal:8080');
    expect(ofHub2).toMatchObject({ initiated: true, scope: 'hub' });
    expect(await change(1, true, PUBLIC)).toMatchObject({ initiated: true, scope: 'cluster' });
    const { initiationTime } = await statusAt(0, PUBLIC);
    expect(await statusAt(0, PUBLIC)).toEqual({ initiated: true, initiationTime, scope: 'cluster' });
    expect((await at(0).get(SHUTDOWN)).body).toMatchObject({ initiated: true, scope: 'hub' });
    const ended = { initiated: false, scope: 'cluster' };
    expect(await change(2, false, `${PUBLIC.toUpperCase()}:443`)).toEqual(ended);
    for (const index of [0, 1, 2]) expect(await statusAt(index, PUBLIC)).toEqual(ended);
    expect((await at(0).get(SHUTDOWN)).body).toMatchObject({ initiated: false });
    expect((await at(2).get(SHUTDOWN)).body).toEqual(ofHub2);
    await change(2, false, 'hub-2.internal:8080');
  });

  it('go on when one of them stops: another schedules, and its agents may join others', async () => {
    const leaving = await start();
    const agent = await FakeAgent.join(leaving, { id: 'mover', instances: [{ id: 'mover-1' }] });
    const id = await at(0).batchJob(job);
    const { ref } = await agent.hear('assign');
    expect(ref.taskId).toBe(id);
    await leaving.stop();
    const [, other] = hubs as [RunningHub, RunningHub];
    const moved = await FakeAgent.join(other, {
      id: 'mover',
      nodeId: agent.nodeId,
      instances: [{ id: 'mover-1' }],
      running: [ref],
    });
    expect(await moved.end(ref, 'OK')).toBe(true);
    expect(await at(2).task(id)).toMatchObject({ status: 'FINISHED' });
    await moved.leave(tokens[0]);
  });

  it('refuse one with another place of blobs, in words', async () => {
    await expect(start({ storage: {} })).rejects.toThrow(
      /runs on the same database and has its blobs in the folder .*, this one in its dataDir: several hubs need one place/,
    );
  });
});
