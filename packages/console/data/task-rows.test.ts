import type { TaskItem } from '@workbench-hub/client';
import { describe, expect, it } from 'vitest';
import type { TaskEvent } from './live-events.js';
import { mergeEvents, reasonOf, withHead } from './task-rows.js';

const task = (number: number, status: TaskItem['status'] = 'WAITING') =>
  ({ id: `t${number}`, status, requestedAt: new Date(number * 1000).toISOString() }) as TaskItem;
const changed = (item: TaskItem): TaskEvent => ({ type: 'task', cursor: 'h.1', task: item });
const removed = (id: string): TaskEvent => ({ type: 'removed', cursor: 'h.1', id, deleted: true });
const ids = (rows: readonly TaskItem[] | undefined) => rows?.map(({ id }) => id);

describe('changes', () => {
  const rows = [task(3), task(2), task(1)];

  it('replace rows in their place, by the latest of several', () => {
    const merged = mergeEvents(rows, [changed(task(2, 'RUNNING')), changed(task(2, 'FINISHED'))], []);
    expect(merged.rows.map(({ status }) => status)).toEqual(['WAITING', 'FINISHED', 'WAITING']);
    expect(merged.isStale).toBe(true);
  });

  it('take away rows that are gone, or have left the wanted statuses', () => {
    const merged = mergeEvents(rows, [removed('t3'), changed(task(1, 'RUNNING'))], ['WAITING']);
    expect(ids(merged.rows)).toEqual(['t2']);
    expect(merged.isStale).toBe(true);
  });

  it('are stale when they tell of a task that is no row', () => {
    expect(mergeEvents(rows, [changed(task(4))], [])).toEqual({ rows, isStale: true });
    expect(mergeEvents(rows, [changed(task(2))], []).isStale).toBe(false);
  });
});

describe('a newest window', () => {
  const rows = [task(5), task(4), task(3), task(2), task(1)];

  it('goes before the older rows', () => {
    expect(ids(withHead(rows, [task(7), task(6), task(5)], true))).toEqual([
      't7',
      't6',
      't5',
      't4',
      't3',
      't2',
      't1',
    ]);
  });

  it('takes away rows that it no longer has', () => {
    expect(ids(withHead(rows, [task(6), task(5), task(3)], true))).toEqual(['t6', 't5', 't3', 't2', 't1']);
    expect(ids(withHead(rows, [task(2)], false))).toEqual(['t2']);
    expect(ids(withHead(rows, [], false))).toEqual([]);
  });

  it('goes before them although its last task is new among them', () => {
    expect(ids(withHead([task(5), task(3), task(1)], [task(5), task(4)], true))).toEqual([
      't5',
      't4',
      't3',
      't1',
    ]);
  });

  it('leaves nothing when there is a gap', () => {
    expect(withHead(rows, [task(9), task(8)], true)).toBeUndefined();
  });
});

it('leaves out of a message what the status says already', () => {
  expect(reasonOf('The task waits for a workbench instance. 2 fitting instances are busy.')).toBe(
    '2 fitting instances are busy.',
  );
  expect(reasonOf('script 1 of 1 exited with code 1')).toBe('script 1 of 1 exited with code 1');
});
