/** Explanations of waiting tasks and dry runs: GET /api/x/tasks/{id}/explain and POST /api/x/explain, verdict by verdict, with
 *  time driven by the test. */
import type { AttemptRef } from '@workbench-hub/shared/domain/task';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { FakeAgent } from '../support/agents/fake-agent.js';
import { HandDrivenRuntime } from '../support/engine/hand-driven-runtime.js';
import { eventually } from '../support/eventually.js';
import { HUBS, PREPARE_SHUTDOWN, SHUTDOWN_STATUS } from '../support/hubs/hubs-under-test.js';
import { type RunningHub, startHub } from '../support/hubs/running-hub.js';
import { Api, expectError, LOCAL_TIMESTAMP } from '../support/interface/api.js';

const DRY_RUN = '/api/x/explain';
const time = expect.stringMatching(LOCAL_TIMESTAMP);
const classifiers = (version: string, labels = '') => [
  { type: 'VERSION', value: version },
  ...(labels === '' ? [] : [{ type: 'LABLES', value: labels }]),
];

let runtime: HandDrivenRuntime;
let hub: RunningHub;
let api: Api;
let agent: FakeAgent;
beforeEach(async () => {
  runtime = new HandDrivenRuntime();
  hub = await startHub({ runtime });
  api = new Api(hub);
  agent = await FakeAgent.join(hub, {
    instances: [
      { id: 'a', version: '9.1', labels: ['gears', 'linux'] },
      { id: 'b', version: '9.2', labels: ['linux'], status: 'DOWN', upForMs: null },
    ],
  });
  // A load balancer gives each hub one of these questions; the hubs without the agent hear of it a little later.
  for (let asked = 0; asked < HUBS; asked++)
    await eventually(async () => ((await dryRun({}))['instances'] as { known: number }).known === 2);
});
afterEach(async () => {
  await agent.leave();
  await hub.stop();
});

const ofTask = async (id: string) => (await api.get(`/api/x/tasks/${id}/explain`)).body;
const dryRun = async (request: object) => {
  const answer = await api.post(DRY_RUN, request);
  expect(answer.status, answer.text).toBe(200);
  return answer.body;
};
const none = { idle: 0, busy: 0, down: 0, unreachable: 0, drained: 0 };

describe('the verdict NEVER', () => {
  it('is given when no known instance fits, with what is missing and since when', async () => {
    const id = await api.simulateWork({ classifiers: classifiers('9.*', 'cfd, linux') });
    const facts = {
      verdict: 'NEVER',
      message: 'No known instance fits: none offers label "cfd"; it waits until one does.',
      unsatisfied: [{ type: 'LABLES', value: 'cfd' }],
      instances: {
        known: 2,
        satisfyingAll: 0,
        satisfyingAllButOne: [{ missing: { type: 'LABLES', value: 'cfd' }, instances: 2 }],
        ...none,
      },
      tasksAhead: 0,
      neverSince: time,
    };
    expect(await ofTask(id)).toEqual({ id, status: 'WAITING', ...facts });
    expect(await dryRun({ classifiers: classifiers('9.*', 'cfd, linux') })).toEqual({
      ...facts,
      priority: 'NORMAL',
      requirement: { version: '9.*', labels: ['cfd', 'linux'] },
    });
  });

  it('names the only criterion that an instance lacks', async () => {
    const body = await dryRun({ classifiers: classifiers('9.2', 'gears') });
    expect(body).toMatchObject({
      verdict: 'NEVER',
      unsatisfied: [],
      message: expect.stringMatching(/lacks only version "9\.2".*lacks only label "gears"/),
    });
  });

  it('holds since the creation of the task when no instance was lost since', async () => {
    await runtime.advance(90_000);
    const id = await api.simulateWork({ classifiers: classifiers('7') });
    await runtime.advance(90_000);
    const { requestedDatetime } = await api.task(id);
    expect((await ofTask(id))['neverSince']).toBe(requestedDatetime);
  });

  it('is not given when a known instance that fits is disconnected', async () => {
    await agent.leave();
    const body = await dryRun({ classifiers: classifiers('9.1') });
    expect(body).toMatchObject({ verdict: 'NONE_UP', instances: { ...none, unreachable: 1 } });
    expect(body).not.toHaveProperty('neverSince');
  });
});

describe('the verdict NONE_UP', () => {
  it('is given when the instances that fit are down', async () => {
    const id = await api.simulateWork({ classifiers: classifiers('9.2') });
    expect(await ofTask(id)).toMatchObject({
      verdict: 'NONE_UP',
      message: '1 instance fits, but none is up: 1 down, 0 unreachable.',
      instances: { known: 2, satisfyingAll: 1, ...none, down: 1 },
    });
  });
});

describe('drained agents', () => {
  it('are named with their instances, which are neither idle nor busy', async () => {
    const drained = await api.post(`/api/x/agents/${agent.id}/drain`, {});
    expect(drained.status, drained.text).toBe(200);
    await runtime.advance(5000);
    const id = await api.simulateWork({ classifiers: classifiers('9.*') });
    const message =
      '2 instances fit, but none takes tasks: 0 down, 0 unreachable, 2 on drained agents. ' +
      `Agent ${agent.id} was drained by anonymous 5 s ago.`;
    const facts = {
      verdict: 'NONE_UP',
      message,
      instances: { known: 2, satisfyingAll: 2, ...none, drained: 2 },
      drains: [{ agentId: agent.id, by: 'anonymous', since: time }],
    };
    expect(await ofTask(id)).toMatchObject(facts);
    await api.post(`/api/x/agents/${agent.id}/undrain`, {});
    await agent.hear('assign');
  });
});

describe('the verdict SOON', () => {
  it('is given when an instance is free, and the start is now', async () => {
    const body = await dryRun({ classifiers: classifiers('9.*') });
    expect(body).toMatchObject({
      verdict: 'SOON',
      message: '1 fitting instance is free; it starts at once.',
      instances: { known: 2, satisfyingAll: 2, ...none, idle: 1, down: 1 },
    });
    const { expected, earliest, latest } = body['estimatedStart'] as Record<string, string>;
    expect([expected, earliest, latest]).toEqual([expected, expected, expected]);
  });

  it('is given for an empty request, which any instance fits', async () => {
    expect(await dryRun({})).toMatchObject({ verdict: 'SOON', requirement: { version: null, labels: [] } });
  });
});

/** Time stands still, so the hub sends nothing that waits for a timer: the status of the task shows its end. */
async function end(ref: AttemptRef): Promise<void> {
  agent.report(ref, 'OK');
  await eventually(async () => (await api.task(ref.taskId))['status'] === 'FINISHED');
}

describe('the verdict BUSY', () => {
  it('counts the tasks ahead by priority that the same instances could run', async () => {
    await api.simulateWork({ classifiers: classifiers('9.1') });
    await agent.hear('assign');
    const first = await api.simulateWork({ classifiers: classifiers('9.1') });
    const second = await api.simulateWork({ classifiers: classifiers('9.*', 'linux') });
    await api.simulateWork({ classifiers: classifiers('7') });
    expect(await ofTask(first)).toMatchObject({ verdict: 'BUSY', tasksAhead: 0 });
    expect(await ofTask(second)).toMatchObject({
      verdict: 'BUSY',
      tasksAhead: 1,
      instances: { ...none, busy: 1, down: 1 },
    });
    const request = classifiers('9.1');
    expect(await dryRun({ classifiers: request })).toMatchObject({ tasksAhead: 2 });
    const high = [...request, { type: 'PRIORITY', value: 'HIGH' }];
    expect(await dryRun({ classifiers: high })).toMatchObject({ tasksAhead: 0, priority: 'HIGH' });
  });

  // Each hub knows the run times of the tasks that have ended at it.
  if (HUBS === 1) {
    it('estimates the start with a range once enough runs were measured', async () => {
      const run = async (lastsMs: number) => {
        await api.simulateWork({ classifiers: classifiers('9.1') });
        const { ref } = await agent.hear('assign');
        await runtime.advance(lastsMs);
        await end(ref);
      };
      for (const lastsMs of [1000, 2000, 3000, 4000]) await run(lastsMs);
      await api.simulateWork({ classifiers: classifiers('9.1') });
      const { ref } = await agent.hear('assign');
      expect(await dryRun({ classifiers: classifiers('9.1') })).not.toHaveProperty('estimatedStart');
      await runtime.advance(5000);
      await end(ref);

      await api.simulateWork({ classifiers: classifiers('9.1') });
      await agent.hear('assign');
      const id = await api.simulateWork({ classifiers: classifiers('9.1') });
      const body = await ofTask(id);
      const estimate = body['estimatedStart'] as Record<string, string>;
      expect(estimate).toEqual({ expected: time, earliest: time, latest: time, measuredRuns: 5 });
      const fromNowMs = (moment: string | undefined) => Date.parse(`${moment}`) - Date.parse(localNow());
      expect(fromNowMs(estimate['earliest'])).toBe(0);
      expect(fromNowMs(estimate['expected'])).toBe(1500);
      expect(fromNowMs(estimate['latest'])).toBe(5000);
      expect(body['message']).toBe(
        '1 fitting instance is busy, 0 tasks are ahead; expected to start in 2 s (between 0 s and 5 s).',
      );
    });

    describe('while a task runs', () => {
      const busy = '1 fitting instance is busy, 0 tasks are ahead';
      const unforeseen = `${busy}; when they will be free cannot be foreseen.`;
      const promised = expect.stringContaining('; expected to start in ');
      const waitingMessage = async () => (await dryRun({ classifiers: classifiers('9.1') }))['message'];

      beforeEach(async () => {
        for (let run = 0; run < 5; run++) {
          await api.simulateWork({ classifiers: classifiers('9.1') });
          const { ref } = await agent.hear('assign');
          await runtime.advance(10_000);
          await end(ref);
        }
      });

      it('for longer than similar ones did, promises no start', async () => {
        await api.simulateWork({ classifiers: classifiers('9.1') });
        await agent.hear('assign');
        expect(await waitingMessage()).toEqual(promised);
        await runtime.advance(10_001);
        expect(await waitingMessage()).toBe(unforeseen);
      });

      it('of which no run times are known, promises a start only near its time limit', async () => {
        await api.simulateWork({ classifiers: classifiers('9.*', 'gears'), timeLimit: 25 });
        await agent.hear('assign');
        expect(await waitingMessage()).toBe(unforeseen);
        await runtime.advance(16_000);
        expect(await waitingMessage()).toEqual(promised);
      });
    });
  }

  /** The time of the test, as the interface writes it. */
  function localNow(): string {
    const nowMs = runtime.clock.nowMs();
    return new Date(nowMs - new Date(nowMs).getTimezoneOffset() * 60_000).toISOString().slice(0, -1);
  }
});

describe('the verdict PAUSED', () => {
  it('is given during shutdown preparation for a task that would start otherwise', async () => {
    await api.post(PREPARE_SHUTDOWN, { initiated: true });
    // Each hub has heard of it when it tells the status.
    for (const address of hub.addresses) await new Api({ address }).get(SHUTDOWN_STATUS);
    expect(await dryRun({ classifiers: classifiers('9.1') })).toMatchObject({
      verdict: 'PAUSED',
      message: 'The hub is being prepared for a shutdown and dispatches no tasks until it is restarted.',
    });
    expect(await dryRun({ classifiers: classifiers('7') })).toMatchObject({ verdict: 'NEVER' });
  });
});

describe('explain for a task that does not wait', () => {
  it('describes its status only', async () => {
    const id = await api.simulateWork({ classifiers: classifiers('9.1') });
    const { ref } = await agent.hear('assign');
    const message = 'The task runs on workbench instance a.';
    expect(await ofTask(id)).toEqual({ id, status: 'RUNNING', message });
    await end(ref);
    expect(Object.keys(await ofTask(id)).sort()).toEqual(['id', 'message', 'status']);
  });

  it('that does not exist is answered with 404', async () => {
    const path = '/api/x/tasks/nobody/explain';
    expectError(await api.get(path), 404, path, 'there is no task with the id "nobody"');
  });
});

describe('the dry run', () => {
  it('accepts the body of a create request and creates nothing', async () => {
    await dryRun({ duration: 5, name: 'x', inputScripts: 'whatever', classifiers: classifiers('9.1') });
    expect((await api.get('/api/2.0/workbench/task/list')).body).toMatchObject({ totalElements: 0 });
    expect(agent.heard.some(({ type }) => type === 'assign')).toBe(false);
  });

  it.each<[object, RegExp | string]>([
    [{ classifiers: [{ type: 'COLOR', value: 'red' }] }, /^classifiers\[0\]\.type: must be one of/],
    [
      { classifiers: [{ type: 'PRIORITY', value: 'URGENT' }] },
      /^classifiers\[0\]\.value: must be one of HIGHEST/,
    ],
    [{ classifiers: [{ type: 'VERSION', value: ' ' }] }, 'classifiers[0].value: must name a version'],
    [
      {
        classifiers: [
          { type: 'VERSION', value: '8' },
          { type: 'VERSION', value: '9' },
        ],
      },
      'classifiers[1].type: VERSION is given more than once',
    ],
  ])('refuses the same classifiers as a create request: %j', async (request, message) => {
    expectError(await api.post(DRY_RUN, request), 400, DRY_RUN, message);
  });
});

describe('the log of a waiting task', () => {
  it('says after a minute, in one line, why the task waits', async () => {
    const id = await api.simulateWork({ classifiers: classifiers('9.1', 'cfd') });
    const log = () => api.get(`/api/2.0/workbench/task/${id}/log`);
    expect((await log()).status).toBe(204);
    await runtime.advance(59_999);
    expect(await log()).toMatchObject({ status: 204, text: '' });
    await runtime.advance(1);
    const why = String((await ofTask(id))['message']);
    expect(await log()).toMatchObject({ status: 200, text: `Waiting for 1 min: ${why}\n` });
    await runtime.advance(4 * 60_000);
    expect((await log()).text).toBe(`Waiting for 5 min: ${why}\n`);
  });
});
