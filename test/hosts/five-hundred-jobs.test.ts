/** 500 allocations of a recipe at once, by commands that are processes. */
import { expect, it, onTestFinished, vi } from 'vitest';
import { JobFolder } from '../support/hosts/job-folder.js';
import { startHub } from '../support/hubs/running-hub.js';
import { Api } from '../support/interface/api.js';
import { temporaryFolder } from '../support/temporary-folder.js';

const COUNT = 500;
/** Time within which all are handed in, or given back, on a busy machine. */
const LIMIT_MS = 150_000;

/** Waits until it holds of all; each look takes time from what it waits for. */
const allOf = (holds: () => void | Promise<void>) => vi.waitFor(holds, { timeout: LIMIT_MS, interval: 1000 });

const countOf = (states: Readonly<Record<string, string>>, wanted: string) =>
  Object.values(states).filter((state) => state === wanted).length;

it('500 jobs at once are handed in, listed and canceled, each once', { timeout: 3 * LIMIT_MS }, async () => {
  const { path, remove } = await temporaryFolder();
  onTestFinished(remove);
  const jobs = new JobFolder(path);
  const agent = { hub: 'ws://127.0.0.1:9', instances: [{ id: 'gear', version: '9.1.0', labels: ['gears'] }] };
  const recipe = { name: 'g'.repeat(40), ...jobs.keys, agent, max: { allocations: COUNT, queued: COUNT } };
  const hub = await startHub({ config: { hosts: [recipe] } });
  onTestFinished(() => hub.stop());
  const api = new Api(hub);
  const states = async (): Promise<Record<string, string>> => {
    const [{ allocations }] = (await api.get('/api/x/hosts')).body['content'] as [
      { readonly allocations: readonly { readonly id: string; readonly state: string }[] },
    ];
    return Object.fromEntries(allocations.map(({ id, state }) => [id, state]));
  };
  const request = { classifiers: [{ type: 'LABLES', value: 'gears' }] };
  const tasks = await Promise.all(Array.from({ length: COUNT + 10 }, () => api.simulateWork(request)));

  await allOf(() => expect(jobs.names()).toHaveLength(COUNT));
  await allOf(async () => expect(countOf(await states(), 'QUEUED')).toBe(COUNT));
  expect(Object.keys(await states()).toSorted()).toEqual(jobs.names());
  expect(jobs.namesWithFiles()).toEqual(jobs.names());
  // One command is asked about all of them.
  await allOf(() => expect(jobs.lists()).toContain(COUNT));

  await Promise.all(tasks.map((id) => api.delete(`/api/2.0/workbench/task/${id}/cancel`)));
  await allOf(() => expect([jobs.canceled().length, jobs.namesWithFiles().length]).toEqual([COUNT, 0]));
  await allOf(async () => expect(countOf(await states(), 'DRAINING')).toBe(0));
  expect(jobs.canceled()).toEqual(jobs.names());
  expect(jobs.names()).toHaveLength(COUNT);
  expect(jobs.doubled()).toEqual([]);
});
