import type { Logger } from '@workbench-hub/shared/runtime/logger';
import { type ManualRuntime, manualRuntime } from '@workbench-hub/shared/runtime/manual-runtime';
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { Database } from './pool.js';
import { Reachability } from './reachability.js';

let runtime: ManualRuntime;
let reachability: Reachability;
let respond: () => Promise<object[]>;
let logged: string[];

beforeEach(() => {
  runtime = manualRuntime();
  respond = async () => [];
  logged = [];
  const log = {
    info: (_: object, text: string) => logged.push(text),
    error: ({ why }: { why: string }) => logged.push(`away: ${why}`),
  } as unknown as Logger;
  const database = { location: 'db', rows: () => respond() } as unknown as Database;
  reachability = new Reachability(database, runtime.timers, log);
});
afterEach(() => reachability.close());

const fails = () => Promise.reject(new Error('it is closed'));

it('a server counts as reachable until it fails, and when it responds again', async () => {
  await runtime.advance(5000);
  expect(reachability.isReachable).toBe(true);
  expect(logged).toEqual([]);
  respond = fails;
  await runtime.advance(1000);
  await runtime.advance(1000);
  expect(reachability.isReachable).toBe(false);
  expect(logged).toEqual(['away: it is closed']);
  respond = async () => [];
  await runtime.advance(1000);
  expect(reachability.isReachable).toBe(true);
  expect(logged).toEqual(['away: it is closed', 'the database responds again']);
});

it('a server that does not respond for three seconds is away, until it does', async () => {
  let answer: (rows: object[]) => void = () => undefined;
  respond = () =>
    new Promise((resolve) => {
      answer = resolve;
    });
  await runtime.advance(1000 + 2999);
  expect(reachability.isReachable).toBe(true);
  await runtime.advance(1);
  expect(reachability.isReachable).toBe(false);
  answer([]);
  await runtime.advance(0);
  expect(reachability.isReachable).toBe(true);
  expect(logged).toEqual(['away: it does not respond', 'the database responds again']);
});

it('a server is not asked any more when the hub has closed its store', async () => {
  await runtime.advance(1000);
  reachability.close();
  respond = fails;
  await runtime.advance(10_000);
  expect(reachability.isReachable).toBe(true);
  expect(runtime.pendingTimers).toBe(0);
});
