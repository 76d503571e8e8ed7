import type { Logger } from '@workbench-hub/shared/runtime/logger';
import { manualRuntime } from '@workbench-hub/shared/runtime/manual-runtime';
import { expect, it } from 'vitest';
import type { OutcomeCounts, StudyRecord } from '../../core/studies/study.js';
import { StudyFollower } from './study-follower.js';

const RUNNING: StudyRecord = {
  ...{ id: 's', name: 'gear', note: null, creator: null, state: 'RUNNING', message: null },
  ...{
    createdAtMs: 1,
    runningSinceMs: 1,
    endedAtMs: null,
    pointCount: 9,
    begunCount: 0,
    retryCount: 0,
    isOpen: false,
  },
};

/** A follower of a study that a test changes. */
function followed() {
  const runtime = manualRuntime();
  const store = {
    record: RUNNING as StudyRecord | undefined,
    counts: {} as OutcomeCounts,
    ...{ records: 0, counted: 0, fault: undefined as Error | undefined },
  };
  const studies = {
    record: async () => {
      store.records++;
      if (store.fault) throw store.fault;
      return store.record;
    },
    counts: async () => {
      store.counted++;
      return store.counts;
    },
  };
  const log = { error: () => undefined } as unknown as Logger;
  const follower = new StudyFollower({ studies, runtime, log });
  const client = new AbortController();
  const told: unknown[] = [];
  const follow = async () => {
    for await (const found of follower.follow('s', client.signal)) told.push(found?.study.state ?? null);
    told.push('end');
  };
  return { runtime, store, follower, client, told, follow };
}

it('reads a study once a second for all who follow it, and tells of changes only', async () => {
  const { runtime, store, told, follow, client } = followed();
  for (let count = 0; count < 20; count++) void follow();
  await runtime.advance(0);
  expect(told).toEqual(Array(20).fill('RUNNING'));
  store.records = 0;
  await runtime.advance(10_000);
  expect([told.length, store.records]).toEqual([20, 10]);
  store.record = { ...RUNNING, state: 'PAUSED' };
  await runtime.advance(1000);
  expect(told.slice(20)).toEqual(Array(20).fill('PAUSED'));
  client.abort();
  await runtime.advance(1000);
  expect(told.slice(40)).toEqual(Array(20).fill('end'));
  store.records = 0;
  await runtime.advance(10_000);
  expect(store.records).toBe(0);
});

it('counts no points again while nothing runs and nothing has changed', async () => {
  const { runtime, store, told, follow } = followed();
  store.record = { ...RUNNING, state: 'STOPPED' };
  store.counts = { OPEN: 1 };
  void follow();
  await runtime.advance(2000);
  expect(store.counted).toBe(3);
  store.counts = { CANCELED: 1 };
  await runtime.advance(5000);
  expect([store.counted, told.length]).toEqual([4, 2]);
  store.record = { ...RUNNING, state: 'STOPPED', retryCount: 1 };
  await runtime.advance(1000);
  expect([store.counted, told.length]).toEqual([5, 3]);
});

it('goes on after a fault of the store, and ends with the study', async () => {
  const { runtime, store, told, follow } = followed();
  void follow();
  await runtime.advance(0);
  store.fault = new Error('the disk is full');
  await runtime.advance(2000);
  store.fault = undefined;
  store.record = undefined;
  await runtime.advance(10_000);
  expect(told).toEqual(['RUNNING', null, 'end']);
});

it('ends when the client disconnects, also while the study cannot be read', async () => {
  const { runtime, store, client, told, follow } = followed();
  store.fault = new Error('the database is away');
  void follow();
  await runtime.advance(1);
  client.abort();
  await runtime.advance(0);
  expect(told).toEqual(['end']);
  store.records = 0;
  await runtime.advance(60_000);
  expect(store.records).toBe(0);
});

it('ends with the hub', async () => {
  const { runtime, follower, told, follow } = followed();
  void follow();
  await runtime.advance(0);
  follower.close();
  await runtime.advance(0);
  expect(told).toEqual(['RUNNING', 'end']);
});
