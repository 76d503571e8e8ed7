import { ATTEMPT_OUTCOMES, type AttemptReport } from '@workbench-hub/shared/domain/attempt';
import type { TaskType } from '@workbench-hub/shared/domain/task';
import { describe, expect, it } from 'vitest';
import { consequenceOf, consequenceOfLoss, type LossKind, lossThatEnded } from './attempt-consequences.js';
import { runningTaskWith, TASK_ID } from './fixtures/task.js';
import type { Task } from './task.js';

const LIMITS = { maxAttempts: 3, maxLosses: 10 };
const outputFiles = [{ path: 'motion.csv', digest: 'a'.repeat(64), sizeBytes: 3 }];
const log = { digest: 'b'.repeat(64), sizeBytes: 5 };
const files = { outputFiles, log };
const requeued = (loss: LossKind, reason: string | null) => ({ kind: 'REQUEUE', loss, reason });

const running = (type: TaskType, rest: Partial<Task> = {}) => runningTaskWith({ type, ...rest });

const report = (outcome: AttemptReport['outcome'], message: string | null = null): AttemptReport => ({
  taskId: TASK_ID,
  attempt: 1,
  instanceId: 'sim-1',
  outcome,
  message,
  outputFiles,
  log,
});

describe('a report', () => {
  it.each([
    ['OK', 'EXECUTE_BATCH_JOB', null, { status: 'FINISHED', batchExecutionStatus: 'OK', message: null }],
    ['OK', 'SIMULATE_WORK', null, { status: 'FINISHED', batchExecutionStatus: null, message: null }],
    ['OK', 'SIMULATE_WORK', 'chatter', { status: 'FINISHED', batchExecutionStatus: null, message: null }],
    [
      'ERROR',
      'EXECUTE_BATCH_JOB',
      'script 1 exited with 7',
      { status: 'FAILED', batchExecutionStatus: 'ERROR', message: 'script 1 exited with 7' },
    ],
    [
      'ERROR',
      'EXECUTE_BATCH_JOB',
      null,
      { status: 'FAILED', batchExecutionStatus: 'ERROR', message: 'a script failed' },
    ],
    [
      'ERROR',
      'SIMULATE_WORK',
      'it broke',
      { status: 'FAILED', batchExecutionStatus: null, message: 'it broke' },
    ],
    [
      'FAILED',
      'EXECUTE_BATCH_JOB',
      'the time limit is over',
      { status: 'FAILED', batchExecutionStatus: null, message: 'the time limit is over' },
    ],
    [
      'FAILED',
      'EXECUTE_BATCH_JOB',
      null,
      { status: 'FAILED', batchExecutionStatus: null, message: 'the job could not be run' },
    ],
  ] as const)('%s of a %s task (%s) ends it with its files', (outcome, type, message, ending) => {
    expect(consequenceOf(report(outcome, message), running(type), LIMITS)).toEqual({
      kind: 'END',
      ending: { ...ending, files },
    });
  });

  it.each(['CANCELED', 'RETURNED'] as const)('%s requeues the task at no cost', (outcome) => {
    const often = running('EXECUTE_BATCH_JOB', { attempt: 50, crashes: 2, losses: 9 });
    expect(consequenceOf(report(outcome, 'it stops'), often, LIMITS)).toEqual(requeued('RETURN', 'it stops'));
  });

  it('INSTANCE_LOST requeues the task until it has run maxAttempts times, and then keeps its files', () => {
    const crashed = (crashes: number, maxAttempts: number) =>
      consequenceOf(report('INSTANCE_LOST', 'exit code 139'), running('EXECUTE_BATCH_JOB', { crashes }), {
        ...LIMITS,
        maxAttempts,
      });
    expect(crashed(0, 3)).toEqual(requeued('CRASH', 'exit code 139'));
    expect(crashed(1, 3)).toEqual(requeued('CRASH', 'exit code 139'));
    expect(crashed(2, 3)).toEqual({
      kind: 'END',
      ending: {
        status: 'FAILED',
        batchExecutionStatus: null,
        message:
          'the workbench instance died 3 times while it ran this task (tasks.maxAttempts): exit code 139',
        files,
      },
    });
    expect(crashed(0, 1)).toMatchObject({
      kind: 'END',
      ending: {
        message: 'the workbench instance died once while it ran this task (tasks.maxAttempts): exit code 139',
      },
    });
  });

  it('has a consequence for every outcome', () => {
    for (const outcome of ATTEMPT_OUTCOMES) {
      expect(consequenceOf(report(outcome), running('EXECUTE_BATCH_JOB'), LIMITS)?.kind).toMatch(
        /^(END|REQUEUE)$/,
      );
    }
  });
});

describe('a loss', () => {
  const lost = (loss: LossKind, task: Partial<Task>, limits: Partial<typeof LIMITS> = {}) =>
    consequenceOfLoss(loss, running('SIMULATE_WORK', task), { ...LIMITS, ...limits }, null);

  it('counts as a crash or as a loss', () => {
    expect(lost('CRASH', { crashes: 1, losses: 9 })).toEqual(requeued('CRASH', null));
    expect(lost('LOSS', { crashes: 2, losses: 8 })).toEqual(requeued('LOSS', null));
  });

  it.each([
    [
      'CRASH',
      { crashes: 2 },
      {},
      'the workbench instance died 3 times while it ran this task (tasks.maxAttempts)',
    ],
    ['LOSS', { losses: 9 }, {}, 'the agent was lost 10 times while it ran this task (tasks.maxLosses)'],
    ['LOSS', {}, { maxLosses: 1 }, 'the agent was lost once while it ran this task (tasks.maxLosses)'],
    [
      'LOSS',
      { losses: 4 },
      { maxLosses: 2 },
      'the agent was lost 2 times while it ran this task (tasks.maxLosses)',
    ],
  ] as const)('%s with %j and limits %j fails the task', (loss, task, limits, message) => {
    expect(lost(loss, task, limits)).toEqual({
      kind: 'END',
      ending: {
        status: 'FAILED',
        batchExecutionStatus: null,
        message,
        files: { outputFiles: [], log: null },
      },
    });
  });

  it('by a return for a host fault counts as a loss, and the message names the last one', () => {
    const fault = 'the outputs could not be kept: ENOSPC';
    const given = (losses: number) =>
      consequenceOf(
        { ...report('RETURNED', fault), hostFault: true },
        running('EXECUTE_BATCH_JOB', { losses }),
        LIMITS,
      );
    expect(given(8)).toEqual(requeued('HOST_FAULT', fault));
    expect(given(9)).toMatchObject({
      kind: 'END',
      ending: {
        status: 'FAILED',
        batchExecutionStatus: null,
        message: `agents returned this task or were lost while running it 10 times (tasks.maxLosses), at last agent agent-1: ${fault}`,
        files: { outputFiles: [], log },
      },
    });
  });

  it('ended a task that was given up, and none whose own job says the same', () => {
    const message = 'the workbench instance died 3 times while it ran this task (tasks.maxAttempts)';
    const givenUp = { status: 'FAILED', batchExecutionStatus: null, message } as const;
    expect(lossThatEnded(givenUp)).toBe('CRASH');
    expect(lossThatEnded({ ...givenUp, batchExecutionStatus: 'ERROR' })).toBeNull();
    expect(lossThatEnded({ ...givenUp, status: 'FINISHED' })).toBeNull();
    expect(lossThatEnded({ ...givenUp, message: `it says: ${message}` })).toBeNull();
    expect(lossThatEnded({ ...givenUp, message: null })).toBeNull();
  });

  it('by any other return has no limit', () => {
    expect(lost('RETURN', { crashes: 99, losses: 99 })).toEqual(requeued('RETURN', null));
  });
});
