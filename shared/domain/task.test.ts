import { describe, expect, it } from 'vitest';
import { hasEnded, sameAttempt, TASK_STATUSES } from './task.js';

describe('task statuses', () => {
  it('of ended tasks are three', () => {
    expect(TASK_STATUSES.filter(hasEnded)).toEqual(['FINISHED', 'FAILED', 'CANCELED']);
  });
});

describe('attempts', () => {
  it('are the same only when task, number and instance are', () => {
    const attempt = { taskId: 't', attempt: 1, instanceId: 'i' };
    expect(sameAttempt(attempt, { ...attempt })).toBe(true);
    for (const other of [{ taskId: 'x' }, { attempt: 2 }, { instanceId: 'x' }]) {
      expect(sameAttempt(attempt, { ...attempt, ...other })).toBe(false);
    }
  });
});
