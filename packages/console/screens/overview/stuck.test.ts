import type { TaskItem } from '@workbench-hub/client';
import { expect, it } from 'vitest';
import { STUCK_LIMIT, stuckTasks } from './stuck.js';

const MINUTE_MS = 60_000;
const NOW_MS = Date.parse('2026-11-21T12:00:00Z');

/** A hub with waiting tasks of these ages in minutes, which counts its requests. */
function hubWith(ages: readonly number[]) {
  const tasks = ages
    .toSorted((a, b) => a - b)
    .map((age) => ({ id: `${age}`, requestedMs: NOW_MS - age * MINUTE_MS }));
  let requests = 0;
  const ask = async (beforeMs: number, limit: number) => {
    requests++;
    const older = tasks.filter(({ requestedMs }) => requestedMs < beforeMs);
    return { total: older.length, tasks: older.slice(0, limit) as unknown as TaskItem[] };
  };
  return { ask, requests: () => requests };
}

it('are all tasks that wait for more than a minute, by one request', async () => {
  const { ask, requests } = hubWith([0.5, 2, 3000]);
  const { total, tasks } = await stuckTasks(ask, NOW_MS);
  expect(total).toBe(2);
  expect(tasks.map(({ id }) => id)).toEqual(['2', '3000']);
  expect(requests()).toBe(1);
});

it('are the newest and the oldest of very many, each once', async () => {
  const long = [20_000, 30_000, 40_000];
  const burst = Array.from({ length: 5000 }, (_, at) => 100 + at / 100);
  const { ask, requests } = hubWith([...burst, ...long]);
  const { total, tasks } = await stuckTasks(ask, NOW_MS);
  const ids = tasks.map(({ id }) => id);
  expect(total).toBe(5003);
  expect(ids.slice(0, 2)).toEqual(['100', '100.01']);
  expect(ids.slice(-3)).toEqual(['20000', '30000', '40000']);
  expect(new Set(ids).size).toBe(ids.length);
  expect(ids.length).toBeLessThanOrEqual(2 * STUCK_LIMIT);
  expect(requests()).toBeLessThan(30);
});

it('are the newest alone when all were requested at the same time', async () => {
  const { ask } = hubWith(Array.from({ length: 600 }, () => 5));
  const { total, tasks } = await stuckTasks(ask, NOW_MS);
  expect(total).toBe(600);
  expect(tasks.length).toBeGreaterThanOrEqual(1);
});
