/** GET /api/x/statistics (contract 12.16). */
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { FakeAgent } from '../support/agents/fake-agent.js';
import { eventually } from '../support/eventually.js';
import { type RunningHub, startHub } from '../support/hubs/running-hub.js';
import { Api, expectError } from '../support/interface/api.js';
import { temporaryFolder } from '../support/temporary-folder.js';

const PATH = '/api/x/statistics';

type Period = Readonly<Record<string, number>> & { readonly start: string };

async function start(): Promise<{ hub: RunningHub; api: Api; restart: () => Promise<Api> }> {
  const folder = await temporaryFolder();
  onTestFinished(folder.remove);
  const dataDir = join(folder.path, 'hub');
  let hub = await startHub({ dataDir });
  onTestFinished(() => hub.stop());
  const restart = async () => {
    await hub.stop();
    hub = await startHub({ dataDir });
    return new Api(hub);
  };
  return { hub, api: new Api(hub), restart };
}

const periodsOf = async (api: Api, query = '') =>
  (await api.get(PATH + query)).body['periods'] as readonly Period[];
const sumOf = (periods: readonly Period[], name: string) =>
  periods.reduce((sum, period) => sum + (period[name] ?? 0), 0);

it('statistics tell what happened to tasks, also before a restart', async () => {
  const { hub, api, restart } = await start();
  const agent = await FakeAgent.join(hub);
  const outcomes = ['INSTANCE_LOST', 'OK', 'FAILED', 'OK'] as const;
  for (let at = 0; at < 3; at++) await api.simulateWork();
  for (const outcome of outcomes) await agent.end((await agent.hear('assign')).ref, outcome);
  const waiting = await api.simulateWork({ classifiers: [{ type: 'VERSION', value: 'none' }] });
  await api.delete(`/api/2.0/workbench/task/${waiting}/cancel`);
  await agent.leave();
  const expected = { created: 4, started: 3, finished: 2, failed: 1, canceled: 1, lost: 1 };
  const totals = (periods: readonly Period[]) =>
    Object.fromEntries(Object.keys(expected).map((name) => [name, sumOf(periods, name)]));
  // Hubs save what they have counted every few seconds.
  const minutes = await eventually(async () => {
    const found = await periodsOf(api);
    expect(totals(found)).toEqual(expected);
    return found;
  });
  expect([1440, 1441]).toContain(minutes.length);
  const busy = minutes.find(({ finished }) => finished !== 0);
  expect(busy?.['meanRun']).toBeGreaterThanOrEqual(0);
  expect(minutes[0]).toEqual({ start: expect.any(String), ...expected, ...zeros(expected) });
  const parts = await periodsOf(api, '?stepsPerPeriod=500');
  expect(parts).toHaveLength(3);
  expect(totals(parts)).toEqual(expected);
  // Of few tasks, the 95th percentile is that of the slowest, and no shorter than the mean.
  const latest = parts.at(-1);
  expect(latest?.['p95Run']).toBeGreaterThanOrEqual(latest?.['meanRun'] ?? Number.NaN);
  expect(latest?.['p95Wait']).toBeGreaterThanOrEqual(latest?.['meanWait'] ?? Number.NaN);
  // Counted, and not saved yet when the hub is stopped.
  await api.simulateWork();
  const again = await restart();
  await again.simulateWork();
  await eventually(async () => {
    const hours = await periodsOf(again, '?step=hour&from=2026-01-01T00:00:00Z');
    expect(totals(hours)).toEqual({ ...expected, created: 6 });
    return true;
  });
  expect(await periodsOf(again, '?from=2026-01-02T00:00:30Z&to=2026-01-02T00:02:30Z')).toHaveLength(3);
  expect(await periodsOf(again, '?from=2026-01-02T00:00:00Z&to=2026-01-01T00:00:00Z')).toEqual([]);
});

function zeros(counts: object): object {
  return Object.fromEntries(Object.keys(counts).map((name) => [name, 0]));
}

it('too many steps are refused', async () => {
  const { api } = await start();
  expectError(
    await api.get(`${PATH}?from=2020-01-01T00:00:00Z`),
    400,
    PATH,
    'from: must be at most 9000 steps before to',
  );
  expectError(await api.get(`${PATH}?step=DAY`), 400, PATH, 'step: must be one of MINUTE, HOUR');
  const range = 'stepsPerPeriod: must be a whole number from 1 to 1000, given once';
  expectError(await api.get(`${PATH}?stepsPerPeriod=0`), 400, PATH, range);
});
