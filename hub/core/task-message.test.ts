import { describe, expect, it } from 'vitest';
import { taskWith } from './fixtures/task.js';
import type { Task } from './task.js';
import { describeState, withIgnoredFields } from './task-message.js';

const instance = { id: 'sim-1', version: '9', revision: '1', agentId: 'agent-1' };

describe('ignored fields of the request', () => {
  const ignoredFields = 'timeLimt (did you mean timeLimit?)';
  const note =
    'The hub ignored fields of the request that it does not know: timeLimt (did you mean timeLimit?).';
  it.each<[string | null, string]>([
    [null, note],
    ['The task waits for a workbench instance.', `The task waits for a workbench instance. ${note}`],
    ['script 1 ended with exit code 3', `script 1 ended with exit code 3. ${note}`],
  ])('follow the message %j', (message, words) => {
    expect(withIgnoredFields({ ignoredFields }, message)).toBe(words);
    expect(withIgnoredFields({ ignoredFields: null }, message)).toBe(message);
  });
});

describe('the state of a task in words', () => {
  it.each<[Partial<Task>, string]>([
    [{}, 'The task waits for a workbench instance.'],
    [{ attempt: 1 }, 'The task waits for a workbench instance again, after 1 attempt that could not end.'],
    [{ attempt: 2 }, 'The task waits for a workbench instance again, after 2 attempts that could not end.'],
    [{ status: 'RUNNING', startedAtMs: 2, instance }, 'The task runs on workbench instance sim-1.'],
    [
      { status: 'FINISHED', startedAtMs: 2, endedAtMs: 3, instance },
      'The task has finished on workbench instance sim-1.',
    ],
    [
      { status: 'FAILED', startedAtMs: 2, endedAtMs: 3, instance, message: 'the time limit is over' },
      'The task has failed: the time limit is over.',
    ],
    [{ status: 'FAILED', endedAtMs: 3 }, 'The task has failed: no reason is known.'],
    [{ status: 'CANCELED', endedAtMs: 3 }, 'The task was canceled before it ran.'],
    [
      { status: 'CANCELED', endedAtMs: 3, attempt: 2 },
      'The task was canceled while it waited again, after 2 attempts that could not end.',
    ],
    [
      { status: 'CANCELED', startedAtMs: 2, endedAtMs: 3, attempt: 1, instance },
      'The task was canceled by force while it ran.',
    ],
  ])('%j', (state, words) => {
    expect(describeState(taskWith(state))).toBe(words);
  });
});
