/** Metrics of `/actuator/prometheus`, and access to them. */
import { afterEach, describe, expect, it, onTestFinished } from 'vitest';
import { FakeAgent } from '../support/agents/fake-agent.js';
import { eventually } from '../support/eventually.js';
import { JobTable } from '../support/hosts/job-table.js';
import { passwordOf, type RunningHub, startHub, USERS } from '../support/hubs/running-hub.js';
import { Api, base64 } from '../support/interface/api.js';
import { TESTED_STORE } from '../support/stores/tested-store.js';
import { temporaryFolder } from '../support/temporary-folder.js';

interface Item {
  readonly allocations: readonly { readonly id: string; readonly state: string }[];
}

let hub: RunningHub;
let api: Api;
afterEach(() => hub.stop());

const PATH = '/actuator/prometheus';

/** The samples, by name and labels as in the text. */
async function metrics(of: Api = api): Promise<Map<string, number>> {
  const { status, text } = await of.get(PATH);
  expect(status).toBe(200);
  const samples = new Map<string, number>();
  for (const line of text.split('\n')) {
    if (line === '' || line.startsWith('#')) continue;
    const at = line.lastIndexOf(' ');
    samples.set(line.slice(0, at), Number(line.slice(at + 1)));
  }
  return samples;
}

const open = async () => {
  hub = await startHub();
  api = new Api(hub);
};

describe('the metrics', () => {
  it('are in the text format of Prometheus, with help and type, and include the process', async () => {
    await open();
    const { headers, text } = await api.get(PATH);
    expect(headers.get('content-type')).toBe('text/plain; version=0.0.4; charset=utf-8');
    expect(text).toContain('# TYPE workbench_hub_task_wait_seconds histogram\n');
    expect(text).toMatch(/^# HELP workbench_hub_attempts_lost_total ./m);
    expect(text).toMatch(/^workbench_hub_build_info\{version="0.1.0",revision=".*"\} 1$/m);
    for (const name of ['nodejs_eventloop_lag_p99_seconds', 'process_resident_memory_bytes']) {
      expect(text).toMatch(new RegExp(`^${name} [0-9.e-]+$`, 'm'));
    }
  });

  it('follow tasks from the queue to their end', async () => {
    await open();
    const agent = await FakeAgent.join(hub);
    const first = await api.batchJob();
    const { ref } = await agent.hear('assign', ({ ref: { taskId } }) => taskId === first);
    await api.batchJob({ classifiers: [{ type: 'PRIORITY', value: 'HIGH' }] });
    const canceled = await api.simulateWork({ classifiers: [{ type: 'VERSION', value: 'none' }] });

    let seen = await metrics();
    expect(seen.get('workbench_hub_tasks_waiting{priority="HIGH"}')).toBe(1);
    expect(seen.get('workbench_hub_tasks_waiting{priority="NORMAL"}')).toBe(1);
    expect(seen.get('workbench_hub_tasks_waiting{priority="LOWEST"}')).toBe(0);
    expect(seen.get('workbench_hub_tasks_running')).toBe(1);
    expect(seen.get('workbench_hub_instances_working')).toBe(1);
    expect(seen.get('workbench_hub_tasks_created_total{type="EXECUTE_BATCH_JOB"}')).toBe(2);
    expect(seen.get('workbench_hub_task_wait_seconds_count{priority="NORMAL"}')).toBe(1);

    await agent.end(ref, 'ERROR', { message: 'a script failed' });
    await api.delete(`/api/2.0/workbench/task/${canceled}/cancel`);
    const { ref: second } = await agent.hear('assign');
    agent.report(second, 'INSTANCE_LOST');
    await agent.hear('assign', ({ ref: { attempt } }) => attempt === 2);
    seen = await metrics();
    expect(seen.get('workbench_hub_tasks_ended_total{type="EXECUTE_BATCH_JOB",status="FAILED"}')).toBe(1);
    expect(seen.get('workbench_hub_tasks_ended_total{type="SIMULATE_WORK",status="CANCELED"}')).toBe(1);
    expect(seen.get('workbench_hub_task_run_seconds_count{type="EXECUTE_BATCH_JOB"}')).toBe(1);
    expect(seen.get('workbench_hub_attempts_lost_total{cause="CRASH"}')).toBe(1);
    expect(seen.get('workbench_hub_attempts_lost_total{cause="LOSS"}')).toBe(0);
    // Each task waits once, however often it is run.
    expect(seen.get('workbench_hub_task_wait_seconds_count{priority="HIGH"}')).toBe(1);
    expect(seen.get('workbench_hub_tasks_waiting{priority="HIGH"}')).toBe(0);
  });

  it('follow agents and instances', async () => {
    await open();
    const agent = await FakeAgent.join(hub);
    expect(await metrics()).toSatisfy(
      (seen: Map<string, number>) =>
        seen.get('workbench_hub_agents{status="UP"}') === 1 &&
        seen.get('workbench_hub_instances{status="UP"}') === 1 &&
        seen.get('workbench_hub_instances{status="FAILED"}') === 0,
    );
    expect((await metrics()).get('workbench_hub_agents_drained')).toBe(0);
    const build = 'version="0.1.0",installation="DEBIAN",os="linux",arch="x64"';
    expect((await metrics()).get(`workbench_hub_agents_by_build{${build}}`)).toBe(1);
    await api.post(`/api/x/agents/${agent.id}/drain`, {});
    await agent.leave();
    const seen = await metrics();
    expect(seen.get('workbench_hub_agents_drained')).toBe(1);
    expect(seen.get('workbench_hub_agents{status="DOWN"}')).toBe(1);
    expect(seen.get('workbench_hub_instances{status="UNKNOWN"}')).toBe(1);
    expect(seen.get('workbench_hub_instances{status="UP"}')).toBe(0);
    expect(seen.get('workbench_hub_agent_disconnects_total')).toBe(1);
  });

  it('follow studies and their points', async () => {
    await open();
    const study = {
      ...{ name: 'bearing', inputScripts: [{ content: base64('run()') }], variables: [{ name: 'load' }] },
      ...{ classifiers: [{ type: 'VERSION', value: 'none' }], stopAfter: 1 },
      plan: { kind: 'LIST', points: [{ load: 1 }, { load: 2 }] },
    };
    expect((await api.call('POST', '/api/x/studies', { json: study })).status).toBe(201);
    expect((await metrics()).get('workbench_hub_studies{state="RUNNING"}')).toBe(1);
    await eventually(
      async () => (await metrics()).get('workbench_hub_study_points_ended_total{outcome="CANCELED"}') === 2,
    );
    const samples = await metrics();
    expect(samples.get('workbench_hub_studies{state="STOPPED"}')).toBe(1);
    expect(samples.get('workbench_hub_studies{state="RUNNING"}')).toBe(0);
    expect(samples.get('workbench_hub_study_points_ended_total{outcome="FINISHED"}')).toBe(0);
  });

  it('follow recipes of hosts, their allocations and what fails', async () => {
    const folder = await temporaryFolder();
    onTestFinished(folder.remove);
    const jobs = new JobTable(folder.path);
    hub = await startHub({ config: { hosts: [jobs.recipe({ max: { hostHoursPerDay: 24 } })] } });
    api = new Api(hub);
    const value = async (name: string, state?: string) => {
      const labels = state === undefined ? '' : `,state="${state}"`;
      return (await metrics()).get(`workbench_hub_hosts_${name}{recipe="cloud"${labels}}`);
    };
    expect(await value('allocations', 'QUEUED')).toBe(0);
    expect(await value('failed_starts_total')).toBe(0);
    expect(await value('manager_failures_total')).toBe(0);
    expect(await value('bound_seconds')).toBe(24 * 3600);
    expect(await value('wall_time_seconds')).toBe(2 * 3600);
    await api.simulateWork({ classifiers: [{ type: 'LABLES', value: 'hosted' }] });
    const queued = () =>
      eventually(async () => {
        const [recipe] = (await api.get('/api/x/hosts')).body['content'] as Item[];
        return recipe?.allocations.find(({ state }) => state === 'QUEUED')?.id;
      });
    const name = await queued();
    expect(await value('allocations', 'QUEUED')).toBe(1);
    expect(await value('instances_coming')).toBe(1);
    expect(await value('reserved_seconds')).toBe(2 * 3600);
    jobs.leave();
    await eventually(async () => (await value('manager_up')) === 0);
    expect(await value('manager_failures_total')).toBeGreaterThanOrEqual(1);
    jobs.comeBack();
    await eventually(async () => (await value('manager_up')) === 1);
    await api.post('/api/x/hosts/cloud/pause', {});
    expect(await value('paused')).toBe(1);
    jobs.fail(name, 'no license\n');
    await eventually(async () => (await value('failed_starts_total')) === 1);
    expect(await value('failures_in_a_row')).toBe(1);
    expect(await value('instances_coming')).toBe(0);
    await api.post('/api/x/hosts/cloud/resume', {});
    expect(await value('failures_in_a_row')).toBe(0);
    expect(await value('paused')).toBe(0);
    const next = await queued();
    jobs.run(next, 3600);
    const agent = await jobs.join(hub, next);
    await eventually(async () => (await value('allocations', 'JOINED')) === 1);
    expect(await value('ran_seconds')).toBeGreaterThan(0);
    expect(await value('reserved_seconds')).toBeLessThan(2 * 3600);
    expect(await value('failed_starts_total')).toBe(1);
    await agent.leave();
  });

  it('count requests by endpoint, never by the path of the client', async () => {
    await open();
    const id = await api.simulateWork();
    await api.get(`/api/2.0/workbench/task/${id}`);
    await api.get('/api/2.0/workbench/task/another');
    await fetch(`${hub.address}/nowhere/${id}`);
    await fetch(`${hub.address}/agent/files/${id}`);
    await fetch(`${hub.address}/agent/enroll`, { method: 'POST', body: '{}' });
    await fetch(`${hub.address}/livez`, { method: 'PUT' });
    const seen = await metrics();
    const task = 'route="/api/2.0/workbench/task/{id}"';
    expect(seen.get(`workbench_hub_http_requests_total{method="GET",${task},status="200"}`)).toBe(1);
    expect(seen.get(`workbench_hub_http_requests_total{method="GET",${task},status="404"}`)).toBe(1);
    expect(seen.get(`workbench_hub_http_request_duration_seconds_count{method="GET",${task}}`)).toBe(2);
    const transfer = 'method="GET",route="/agent/files/{digest}",status="401"';
    expect(seen.get(`workbench_hub_http_requests_total{${transfer}}`)).toBe(1);
    const enrollment = 'method="POST",route="/agent/enroll",status="400"';
    expect(seen.get(`workbench_hub_http_requests_total{${enrollment}}`)).toBe(1);
    for (const status of [404, 405]) {
      const none = `{method="any",route="none",status="${status}"}`;
      expect(seen.get(`workbench_hub_http_requests_total${none}`)).toBe(1);
    }
    expect([...seen.keys()].some((name) => name.includes(id))).toBe(false);
  });

  it('exclude the waiting of long polls from the durations', async () => {
    await open();
    const agent = await FakeAgent.join(hub);
    const id = await api.simulateWork();
    const { ref } = await agent.hear('assign');
    const waiting = api.get(`/api/2.0/workbench/task/simulate-work/${id}/result?timeout=60`);
    await agent.end(ref, 'OK');
    expect((await waiting).status).toBe(200);
    const seen = await metrics();
    const route = 'method="GET",route="/api/2.0/workbench/task/simulate-work/{id}/result"';
    expect(seen.get(`workbench_hub_http_requests_total{${route},status="200"}`)).toBe(1);
    expect(seen.get(`workbench_hub_http_request_duration_seconds_count{${route}}`)).toBeUndefined();
  });

  it('describe the store, the blobs and the disk', async () => {
    await open();
    const content = base64('x'.repeat(1000));
    await api.batchJob({ inputScripts: [{ content }] });
    const seen = await metrics();
    // A commit on PostgreSQL contains the sync.
    const ofSqlite = TESTED_STORE === 'sqlite' ? ['store_sync_seconds_count'] : [];
    for (const name of ['store_commit_seconds_count', ...ofSqlite, 'disk_free_bytes']) {
      expect(seen.get(`workbench_hub_${name}`), name).toBeGreaterThan(0);
    }
    expect(seen.get('workbench_hub_store_commit_operations_sum')).toBeGreaterThan(1);
    expect(seen.get('workbench_hub_blobs_stored_bytes_total')).toBe(1000);
    const database = TESTED_STORE === 'sqlite' ? 'tasks' : 'all';
    expect(seen.get(`workbench_hub_database_bytes{database="${database}"}`)).toBeGreaterThan(1000);
    expect(seen.get('workbench_hub_store_failures_total')).toBe(0);
    expect(seen.get('workbench_hub_locked')).toBe(0);
    await api.post('/api/2.0/admin/prepare-shutdown/change', { initiated: true });
    expect((await metrics()).get('workbench_hub_locked')).toBe(1);
  });

  it('accept a personal token of an ADMIN, and count failed logins', async () => {
    hub = await startHub({ users: USERS });
    const open = new Api(hub);
    const anna = await open.asUser('anna');
    const vera = await open.asUser('vera');
    expect((await open.get(PATH)).status).toBe(401);
    expect((await vera.get(PATH)).status).toBe(403);
    const { body } = await anna.post('/api/x/tokens', {
      name: 'prometheus',
      expiresInDays: 90,
      role: 'ADMIN',
    });
    await open.post('/api/2.0/auth/login', { username: 'anna', password: `not ${passwordOf('anna')}` });
    const seen = await metrics(open.as(body['token'] as string));
    expect(seen.get('workbench_hub_login_failures_total{reason="REFUSED"}')).toBe(1);
    expect(seen.get('workbench_hub_login_failures_total{reason="THROTTLED"}')).toBe(0);
  });
});
