/** Exclusions of returned tasks, as the scheduler sees them; test/engine tests their whole course. */
import type { Logger } from '@workbench-hub/shared/runtime/logger';
import { manualRuntime } from '@workbench-hub/shared/runtime/manual-runtime';
import { describe, expect, it } from 'vitest';
import type { TaskExclusion } from '../../core/ports/task-exclusions.js';
import type { Task } from '../../core/task.js';
import { type Availability, InstanceIndex } from '../instances/instance-index.js';
import { AgentExclusions } from './agent-exclusions.js';

const ANYTHING = { version: null, labels: [] };
const VERSION_1 = { version: '1', labels: [] };
const NO_DISK = 'its disk is full';
const TEN_MINUTES_MS = 600_000;

/** Tasks returned to a hub whose agents hold instances of version 1, and the lookups of these. */
function returnsAmong(agentIds: readonly string[], instancesOfAgent = 1) {
  const index = new InstanceIndex();
  const add = (agentId: string, version = '1', availability: Availability = 'UP') => {
    const profile = { id: `${agentId}-sim`, version, revision: '', labels: [] };
    const instanceClass = index.add(profile);
    const instance = {
      profile,
      instanceClass,
      agentId,
      idleSinceMs: 0,
      availability: 'NONE' as const,
    };
    index.setAvailability(instance, availability);
    return instance;
  };
  const up = agentIds.flatMap((agentId) => Array.from({ length: instancesOfAgent }, () => add(agentId)));
  const asked = { classes: 0, agents: 0 };
  const runtime = manualRuntime();
  const wall = { setBackMs: 0 };
  const rows: TaskExclusion[] = [];
  const exclusions: AgentExclusions = new AgentExclusions({
    store: {
      put: async (taskId, exclusion) => void rows.push({ taskId, requirement: VERSION_1, exclusion }),
      since: async (atMs) => rows.filter(({ exclusion }) => exclusion.atMs > atMs),
    },
    signals: { tell: (signal) => exclusions.onSignal.EXCLUDED?.(signal as never) },
    log: { error: () => undefined } as unknown as Logger,
    instances: {
      get classesVersion() {
        return index.classesVersion;
      },
      get classes() {
        asked.classes++;
        return index.classes;
      },
      *agentsUp(instanceClass) {
        for (const agentId of index.agentsUp(instanceClass)) {
          asked.agents++;
          yield agentId;
        }
      },
    },
    clock: { ...runtime.clock, nowMs: () => runtime.clock.nowMs() - wall.setBackMs },
    timers: runtime.timers,
  });
  const returnTask = (taskId: string, agentId: string, requirement: Task['requirement'] = VERSION_1) =>
    exclusions.note({ id: taskId, requirement } as Task, agentId, NO_DISK);
  return { index, add, up, asked, runtime, wall, exclusions, returnTask };
}

describe('a task that an agent returned because of a full disk', () => {
  it('may go to any other agent, and not to this one', () => {
    const { exclusions, returnTask } = returnsAmong(['small', 'large']);
    returnTask('t1', 'small');
    expect(exclusions.isAllowed('t1', 'small')).toBe(false);
    expect(exclusions.isAllowed('t1', 'large')).toBe(true);
    expect(exclusions.isAllowed('t2', 'small')).toBe(true);
  });

  it('may go to it again when no other agent has a fitting instance that is up', () => {
    const { index, add, up, exclusions, returnTask } = returnsAmong(['small', 'large']);
    returnTask('t1', 'small');
    for (const instance of up) if (instance.agentId === 'large') index.setAvailability(instance, 'NONE');
    expect(exclusions.isAllowed('t1', 'small')).toBe(true);
    add('large', '2');
    expect(exclusions.isAllowed('t1', 'small')).toBe(true);
    add('large', '1', 'IDLE');
    expect(exclusions.isAllowed('t1', 'small')).toBe(false);
  });

  it('may go to an instance of a class that became known after its return', () => {
    const { add, exclusions, returnTask } = returnsAmong(['small']);
    returnTask('t1', 'small', ANYTHING);
    expect(exclusions.isAllowed('t1', 'small')).toBe(true);
    add('large', '2');
    expect(exclusions.isAllowed('t1', 'small')).toBe(false);
  });
});

describe('an exclusion', () => {
  it('that is read again and again ends after ten minutes, although the clock was set back', async () => {
    const { runtime, wall, exclusions, returnTask } = returnsAmong(['small', 'large']);
    returnTask('t1', 'small');
    wall.setBackMs = 24 * 3_600_000;
    await exclusions.load();
    await runtime.advance(TEN_MINUTES_MS - 1);
    await exclusions.load();
    expect(exclusions.isAllowed('t1', 'small')).toBe(false);
    await runtime.advance(1);
    await exclusions.load();
    expect(exclusions.isAllowed('t1', 'small')).toBe(true);
  });
});

describe('the scheduler is informed', () => {
  it('about a few agents only, however many instances there are and however often it asks', () => {
    const agentIds = Array.from({ length: 20 }, (_, at) => `agent-${at}`);
    const { asked, exclusions, returnTask } = returnsAmong(agentIds, 50);
    returnTask('t1', 'agent-0');
    returnTask('t1', 'agent-1');
    expect(agentIds.map((agentId) => exclusions.isAllowed('t1', agentId)).filter((may) => !may)).toHaveLength(
      2,
    );
    expect(exclusions.isAllowed('t1', 'agent-0')).toBe(false);
    // Two that returned it and the first that did not, three times; classes once, since none came or went.
    expect(asked).toEqual({ classes: 1, agents: 9 });
  });

  it('of the number of tasks that are excluded from some agent, each once, until the exclusion ends', async () => {
    const { runtime, exclusions, returnTask } = returnsAmong(['a', 'b']);
    expect(exclusions.count).toBe(0);
    returnTask('t1', 'a');
    returnTask('t1', 'b');
    returnTask('t2', 'a');
    await runtime.advance(1);
    returnTask('t1', 'b');
    await runtime.advance(1);
    returnTask('t3', 'a', ANYTHING);
    expect(exclusions.count).toBe(3);
    exclusions.forget('t2');
    exclusions.forget('t2');
    expect(exclusions.count).toBe(2);
    await runtime.advance(TEN_MINUTES_MS - 2);
    expect(exclusions.count).toBe(2);
    await runtime.advance(1);
    expect(exclusions.count).toBe(1);
    exclusions.stop();
    expect(exclusions.count).toBe(0);
  });
});
