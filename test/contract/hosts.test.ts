/** Recipes of hosts and their allocations, as clients see them (contract 12.49). */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { eventually } from '../support/eventually.js';
import { JobTable } from '../support/hosts/job-table.js';
import { type RunningHub, startHub, USERS } from '../support/hubs/running-hub.js';
import { Api } from '../support/interface/api.js';
import { LOG_LEVEL } from '../support/memory-log.js';
import { type TemporaryFolder, temporaryFolder } from '../support/temporary-folder.js';

const HOSTED = { classifiers: [{ type: 'LABLES', value: 'hosted' }] };
const TIME = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d/);

let folder: TemporaryFolder;
let jobs: JobTable;
let hub: RunningHub;
let anna: Api;

beforeEach(async () => {
  folder = await temporaryFolder();
  jobs = new JobTable(folder.path);
  hub = await startHub({
    users: USERS,
    config: {
      hosts: [
        jobs.recipe({ max: { allocations: 3, queued: 2, hostHoursPerDay: 24 } }),
        jobs.recipe({
          name: 'free',
          agent: { hub: 'ws://127.0.0.1:9', instances: [{ id: 'other', version: '1' }] },
        }),
      ],
    },
  });
  anna = await new Api(hub).asUser('anna');
});
afterEach(async () => {
  await hub.stop();
  await folder.remove();
});

interface Recipe {
  readonly allocations: readonly { readonly id: string; readonly state: string }[];
  readonly [field: string]: unknown;
}

async function recipes(as = anna): Promise<Recipe[]> {
  const { status, body, text } = await as.get('/api/x/hosts');
  expect(status, text).toBe(200);
  return body['content'] as Recipe[];
}

const cloud = async (as = anna) => (await recipes(as))[0] as Recipe;

/** Lines of the log about the steps of an allocation. */
const linesOf = (name: string) =>
  hub.log.filter(({ allocation, msg }) => allocation === name && msg.startsWith('an allocation '));

/** Name of the only allocation, once it is in this state. */
const allocationIn = (state: string) =>
  eventually(async () => (await cloud()).allocations.find((each) => each.state === state)?.id);

describe('the recipes of hosts', () => {
  it('have their bounds, and no bound of host-hours unless there is one', async () => {
    const [first, second] = await recipes();
    expect(first).toEqual({
      ...{
        name: 'cloud',
        manager: 'command',
        state: 'READY',
        failedStarts: 0,
        instances: 1,
        wallTimeS: 7200,
      },
      ...{
        maxAllocations: 3,
        maxQueued: 2,
        hostHours: 0,
        reservedHostHours: 0,
        maxHostHours: 24,
        allocations: [],
      },
    });
    expect(second).toMatchObject({ name: 'free', maxAllocations: 10, maxQueued: 4 });
    expect(second).not.toHaveProperty('maxHostHours');
  });

  it('reserve the host-hours that open allocations may still run', async () => {
    await anna.simulateWork(HOSTED);
    const name = await allocationIn('QUEUED');
    expect(await cloud()).toMatchObject({ hostHours: 0, reservedHostHours: 2 });
    // Less than the wall time, as where the workload manager has a limit of its own.
    jobs.run(name, 3600);
    await allocationIn('STARTED');
    const { hostHours, reservedHostHours } = await cloud();
    expect(hostHours).toBeGreaterThanOrEqual(0);
    expect(reservedHostHours).toBeLessThanOrEqual(1);
    expect(reservedHostHours).toBeGreaterThan(0.9);
  });

  it('say who has paused them, and since when', async () => {
    expect((await anna.post('/api/x/hosts/cloud/pause', {})).status).toBe(204);
    expect(await cloud()).toMatchObject({ state: 'PAUSED', pausedBy: 'anna', pausedAt: TIME });
    expect((await anna.post('/api/x/hosts/cloud/resume', {})).status).toBe(204);
    const resumed = await cloud();
    expect(resumed).toMatchObject({ state: 'READY' });
    expect(resumed).not.toHaveProperty('pausedBy');
    expect(resumed).not.toHaveProperty('pausedAt');
  });

  it('say why a start failed, with the end of its output, to administrators alone', async () => {
    await anna.simulateWork(HOSTED);
    const name = await allocationIn('QUEUED');
    jobs.fail(name, 'the license server does not answer\n');
    await allocationIn('ENDED');
    const failed = await cloud();
    expect(failed).toMatchObject({
      ...{ state: 'READY', failedStarts: 1, nextTryAt: TIME },
      message: expect.stringContaining('the license server does not answer'),
      allocations: [
        { cause: 'ENDED_EARLY', message: expect.stringContaining('the license server does not answer') },
      ],
    });
    const shown = await cloud(await anna.asUser('vera'));
    expect(shown).toMatchObject({
      failedStarts: 1,
      allocations: [{ id: name, cause: 'ENDED_EARLY', jobId: '1' }],
    });
    expect(JSON.stringify(shown)).not.toContain('license');
  });

  it('leave each step of an allocation in the log, with its job and why it was wanted', async () => {
    await anna.simulateWork(HOSTED);
    const failed = await allocationIn('QUEUED');
    jobs.fail(failed, 'the license server does not answer\n');
    await allocationIn('ENDED');
    const name = await allocationIn('QUEUED');
    jobs.run(name, 3600);
    await allocationIn('STARTED');
    const agent = await jobs.join(hub, name);
    await allocationIn('JOINED');
    const { ref } = await agent.hear('assign');
    await agent.end(ref, 'OK');
    await anna.post('/api/x/hosts/cloud/drain', {});
    await eventually(() => jobs.isCanceled(name));
    await agent.leave(anna.token);
    await eventually(() => linesOf(name).some(({ msg }) => msg === 'an allocation is ended'));
    expect(linesOf(failed).map(({ msg }) => msg)).toEqual([
      'an allocation is wanted',
      'an allocation is submitted',
      'an allocation is queued',
      'an allocation failed to start',
    ]);
    expect(linesOf(failed)[0]).toMatchObject({ reason: '1 task waits for any version, labels hosted' });
    expect(linesOf(failed).at(-1)).toMatchObject({
      ...{ level: LOG_LEVEL.WARN, recipe: 'cloud', jobId: '1', cause: 'ENDED_EARLY' },
      message: expect.stringContaining('the license server does not answer'),
    });
    expect(linesOf(name).map(({ msg, jobId }) => [msg, jobId])).toEqual([
      ['an allocation is wanted', undefined],
      ...['submitted', 'queued', 'started', 'joined', 'draining', 'ended'].map((state) => [
        `an allocation is ${state}`,
        '2',
      ]),
    ]);
  });

  it('leave in the audit log who paused, resumed and drained them, and that their agents joined', async () => {
    await anna.simulateWork(HOSTED);
    const name = await allocationIn('QUEUED');
    const agent = await jobs.join(hub, name);
    const changes = ['pause', 'resume', 'drain'];
    for (const change of changes) await anna.post(`/api/x/hosts/cloud/${change}`, {});
    const vera = await anna.asUser('vera');
    expect((await vera.post('/api/x/hosts/cloud/pause', {})).status).toBe(403);
    const entries = async (query: string) =>
      (await anna.get(`/api/x/audit?limit=1000&${query}`)).body['entries'] as Record<string, unknown>[];
    await eventually(async () => {
      const own = await entries('user=anna');
      for (const change of changes)
        expect(own).toContainEqual(
          expect.objectContaining({
            ...{ action: `POST /api/x/hosts/{name}/${change}`, resource: `/api/x/hosts/cloud/${change}` },
            ...{ outcome: 'ALLOWED', status: 204 },
          }),
        );
      expect(await entries('user=vera')).toContainEqual(
        expect.objectContaining({ resource: '/api/x/hosts/cloud/pause', outcome: 'REFUSED' }),
      );
      const joined = { action: 'AGENT_JOIN', by: 'AGENT_CREDENTIAL' };
      expect(await entries(`user=${name}`)).toContainEqual(expect.objectContaining(joined));
      return true;
    });
    await agent.leave(anna.token);
  });

  it('give an allocation back when an administrator drains them', async () => {
    await anna.simulateWork(HOSTED);
    const name = await allocationIn('QUEUED');
    jobs.run(name, 3600);
    const agent = await jobs.join(hub, name);
    const { ref } = await agent.hear('assign');
    await allocationIn('JOINED');
    await anna.post('/api/x/hosts/cloud/drain', {});
    await allocationIn('DRAINING');
    // Its task runs.
    expect(jobs.isCanceled(name)).toBe(false);
    await agent.end(ref, 'OK');
    await eventually(() => jobs.isCanceled(name));
  });
});
