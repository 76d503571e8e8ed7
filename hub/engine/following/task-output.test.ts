import type { AttemptRef } from '@workbench-hub/shared/domain/task';
import { beforeEach, describe, expect, it } from 'vitest';
import { MAX_CANCELED, MAX_TAIL_LENGTH, readableTail, TaskOutput } from './task-output.js';

const REF = { taskId: 't', attempt: 1, instanceId: 'sim-1' };

let output: TaskOutput;
beforeEach(() => {
  output = new TaskOutput();
  output.expect('agent-1', REF);
});

describe('the output of a running task', () => {
  it('consists of all pieces, in order', () => {
    expect(readableTail(output.tailOf('t'))).toBe('');
    output.append('agent-1', REF, 0, 'one ');
    output.append('agent-1', REF, 4, 'two');
    expect(readableTail(output.tailOf('t'))).toBe('one two');
  });

  it('ignores repeated pieces', () => {
    output.append('agent-1', REF, 0, 'abc');
    output.append('agent-1', REF, 0, 'abc');
    output.append('agent-1', REF, 1, 'bcde');
    output.append('agent-1', REF, 2, 'c');
    expect(readableTail(output.tailOf('t'))).toBe('abcde');
  });

  it('states how much is missing when pieces were lost', () => {
    output.append('agent-1', REF, 0, 'abc');
    output.append('agent-1', REF, 10, 'later');
    output.append('agent-1', REF, 15, '!');
    expect(readableTail(output.tailOf('t'))).toBe('[… 10 characters before this]\nlater!');
  });

  it('keeps the end of long output, without a gap or a repeated character', () => {
    let offset = 0;
    for (let line = 0; offset < 5 * MAX_TAIL_LENGTH; line++) {
      const text = `${line}\n`.repeat(500);
      output.append('agent-1', REF, offset, text);
      offset += text.length;
    }
    const [, left, kept] =
      /^\[… (\d+) characters before this\]\n(.*)$/s.exec(readableTail(output.tailOf('t'))) ?? [];
    expect(Number(left) + (kept?.length ?? 0)).toBe(offset);
    expect(kept?.length).toBeGreaterThanOrEqual(MAX_TAIL_LENGTH);
    expect(kept?.length).toBeLessThanOrEqual(2 * MAX_TAIL_LENGTH);
    const lines = kept?.split('\n').slice(1, -1).map(Number) ?? [];
    const gaps = lines.filter((line, at) => at > 0 && line - (lines[at - 1] ?? 0) > 1);
    expect([lines.length > 1000, gaps]).toEqual([true, []]);
  });

  it('is only that of the active attempt', () => {
    const next = { ...REF, attempt: 2 };
    output.append('agent-1', REF, 0, 'first');
    output.expect('agent-1', next);
    expect(readableTail(output.tailOf('t'))).toBe('');
    output.append('agent-1', REF, 5, 'stale');
    output.append('agent-1', { ...next, instanceId: 'sim-2' }, 0, 'elsewhere');
    output.append('agent-2', next, 0, 'forged');
    output.append('agent-1', next, 0, 'second');
    expect(readableTail(output.tailOf('t'))).toBe('second');
    output.expect('agent-1', next);
    expect(readableTail(output.tailOf('t'))).toBe('second');
  });

  it('is gone when its attempt does not run, as the rows show that are read after it began', () => {
    const [ended, moved, runs, fresh] = ['ended', 'moved', 'runs', 'fresh'].map((taskId) => ({
      ...REF,
      taskId,
    })) as [AttemptRef, AttemptRef, AttemptRef, AttemptRef];
    for (const ref of [ended, moved, runs]) output.expect('agent-1', ref);
    output.beginComparison();
    output.expect('agent-1', fresh);
    const running = [runs, { ...moved, attempt: 2 }].map((ref) => ({ agentId: 'agent-1', ref }));
    output.compare(running);
    const kept = [ended, moved, runs, fresh].filter(({ taskId }) => output.tailOf(taskId));
    expect(kept).toEqual([runs, fresh]);
  });

  it('is gone when it is forgotten, and later pieces are ignored', () => {
    output.append('agent-1', REF, 0, 'abc');
    output.forget('t');
    output.append('agent-1', REF, 3, 'def');
    expect(readableTail(output.tailOf('t'))).toBe('');
  });

  it('of a task that no agent runs is not kept', () => {
    output.append('agent-1', { ...REF, taskId: 'other' }, 0, 'abc');
    expect(readableTail(output.tailOf('other'))).toBe('');
  });
});

describe('the output of a canceled task', () => {
  const canceled = (taskId: string) => output.onTask.CANCELED?.(event({ task: { id: taskId } }));
  /** The fields that are read of an event. */
  const event = <E>(fields: unknown) => fields as E;

  it('is kept until the agent has reported, here and where another hub cancels it', () => {
    output.append('agent-1', REF, 0, 'so far');
    canceled('t');
    output.append('agent-1', REF, 6, ', and the rest');
    expect(output.tailOf('t')?.text).toBe('so far, and the rest');
    output.onTask.FILES_KEPT?.(event({ ref: REF }));
    expect(output.tailOf('t')).toBeUndefined();

    output.expect('agent-1', REF);
    output.append('agent-1', REF, 0, 'elsewhere');
    output.onSignal.CANCELED?.(event({ agentId: 'agent-1', ref: REF }));
    output.onSignal.ENDED?.(event({ taskId: 't' }));
    output.beginComparison();
    output.compare([]);
    expect(output.tailOf('t')?.text).toBe('elsewhere');
    output.onTask.REMOVED?.(event({ taskId: 't' }));
    expect(output.tailOf('t')).toBeUndefined();
  });

  it('is dropped of the oldest ones when many agents do not report', () => {
    for (let number = 0; number <= MAX_CANCELED; number++) {
      output.expect('agent-1', { taskId: `t-${number}`, attempt: 1, instanceId: 'sim-1' });
      canceled(`t-${number}`);
    }
    expect(output.tailOf('t-0')).toBeUndefined();
    expect(output.tailOf('t-1')).toBeDefined();
    expect(output.tailOf(`t-${MAX_CANCELED}`)).toBeDefined();
  });
});
