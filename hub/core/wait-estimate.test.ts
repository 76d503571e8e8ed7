import type { InstanceStatus } from '@workbench-hub/shared/domain/instance';
import { describe, expect, it } from 'vitest';
import { type Candidate, explain, MAX_TASKS_AHEAD, type Situation } from './wait-estimate.js';

const NOW_MS = 1_000_000;

function instance(
  version: string,
  labels: string[],
  status: InstanceStatus = 'UP',
  working = false,
): Candidate {
  return { profile: { id: `${version} ${labels.join()}`, version, revision: '', labels }, status, working };
}

function situation(part: Partial<Situation>): Situation {
  return {
    requirement: { version: '9.*', labels: ['gears', 'linux'] },
    type: 'EXECUTE_BATCH_JOB',
    candidates: [],
    tasksAhead: 0,
    runTimes: null,
    unfittingSinceMs: 500,
    nowMs: NOW_MS,
    dispatching: true,
    ...part,
  };
}

describe('explain', () => {
  it('says NEVER only when no known instance fits, with what is missing and since when', () => {
    const explanation = explain(
      situation({ candidates: [instance('9.1', ['linux']), instance('8.0', ['linux', 'cfd'])] }),
    );
    expect(explanation).toMatchObject({
      verdict: 'NEVER',
      unsatisfied: [{ type: 'LABLES', value: 'gears' }],
      knownInstances: 2,
      satisfyingAll: 0,
      satisfyingAllButOne: [{ missing: { type: 'LABLES', value: 'gears' }, instances: 1 }],
      unfittingSinceMs: 500,
      estimate: null,
    });
    expect(explanation.message).toBe(
      'No known instance fits: none offers label "gears"; it waits until one does.',
    );
  });

  it('examines each instance a few times, however much is required', () => {
    let looks = 0;
    const counted = (at: number): Candidate => {
      const candidate = instance('9.1', [`label-${at}`]);
      const profile = new Proxy(candidate.profile, {
        get: (target, key) => {
          looks++;
          return Reflect.get(target, key);
        },
      });
      return { ...candidate, profile };
    };
    const labels = Array.from({ length: 200 }, (_, at) => `label-${at}`);
    const candidates = labels.map((_, at) => counted(at));
    const { unsatisfied } = explain(situation({ requirement: { version: '9.*', labels }, candidates }));
    expect(unsatisfied).toEqual([]);
    expect(looks).toBeLessThan(5 * candidates.length);
  });

  it('names the one criterion that keeps instances from fitting when each is met by some instance', () => {
    const candidates = [
      instance('9.1', ['gears']),
      instance('8.0', ['gears', 'linux']),
      instance('9.2', ['linux']),
    ];
    const explanation = explain(situation({ candidates }));
    expect(explanation).toMatchObject({ verdict: 'NEVER', unsatisfied: [] });
    expect(explanation.satisfyingAllButOne).toEqual([
      { missing: { type: 'VERSION', value: '9.*' }, instances: 1 },
      { missing: { type: 'LABLES', value: 'gears' }, instances: 1 },
      { missing: { type: 'LABLES', value: 'linux' }, instances: 1 },
    ]);
    expect(explanation.message).toMatch(/: 1 lacks only version "9\.\*", 1 lacks only label "gears", /);
  });

  it('says NEVER when no instance is known at all', () => {
    expect(explain(situation({ requirement: { version: null, labels: [] } }))).toMatchObject({
      verdict: 'NEVER',
      message: 'No known instance fits: none offers all that is asked for; it waits until one does.',
    });
  });

  it('distinguishes instances that are down from those of disconnected agents', () => {
    const labels = ['gears', 'linux'];
    const candidates = [
      instance('9.1', labels, 'DOWN'),
      instance('9.2', labels, 'FAILED'),
      instance('9.3', labels, 'UNKNOWN'),
      instance('8.1', labels),
    ];
    expect(explain(situation({ candidates }))).toMatchObject({
      verdict: 'NONE_UP',
      fitting: { idle: 0, busy: 0, down: 2, unreachable: 1 },
      message: '3 instances fit, but none is up: 2 down, 1 unreachable.',
      estimate: null,
      unfittingSinceMs: null,
    });
  });

  it('counts instances of drained agents separately, and names the first agents', () => {
    const labels = ['gears', 'linux'];
    const drained = (number: number, status: InstanceStatus = 'UP'): Candidate => ({
      ...instance('9.1', labels, status),
      drain: { agentId: `host-${number}`, by: 'anna', sinceMs: NOW_MS - number * 60_000 },
    });
    const two = [drained(2, 'UNKNOWN'), drained(2), drained(1)];
    expect(explain(situation({ candidates: two }))).toMatchObject({
      verdict: 'NONE_UP',
      fitting: { idle: 0, busy: 0, kept: 0, down: 0, unreachable: 0, drained: 3 },
      drains: [{ agentId: 'host-1' }, { agentId: 'host-2' }],
      message:
        '3 instances fit, but none takes tasks: 0 down, 0 unreachable, 3 on drained agents. ' +
        'Agent host-1 was drained by anna 60 s ago. Agent host-2 was drained by anna 2 min ago.',
    });
    const five = [1, 2, 3, 4, 5].map((number) => drained(number));
    const busy = explain(situation({ candidates: [instance('9.1', labels, 'UP', true), ...five] }));
    expect(busy).toMatchObject({ verdict: 'BUSY', fitting: { busy: 1, drained: 5 } });
    expect(busy.message).toMatch(
      /^1 fitting instance is busy, 0 tasks are ahead\..* Agent host-3 was drained by anna 3 min ago\. 2 more agents are drained\.$/,
    );
    const free = explain(situation({ candidates: [instance('9.1', labels), ...five] }));
    expect(free.message).toBe('1 fitting instance is free; it starts at once.');
  });

  it('says SOON when there are more idle instances than tasks ahead', () => {
    const candidates = [instance('9.1', ['gears', 'linux']), instance('9.2', ['gears', 'linux'])];
    const explanation = explain(situation({ candidates, tasksAhead: 1 }));
    expect(explanation).toMatchObject({
      verdict: 'SOON',
      estimate: { expectedMs: NOW_MS, latestMs: NOW_MS },
    });
    expect(explain(situation({ candidates, tasksAhead: 2 })).verdict).toBe('BUSY');
    const unmeasured = explain(situation({ candidates, tasksAhead: 1, runTimes: null }));
    expect(unmeasured.estimate).toEqual({
      expectedMs: NOW_MS,
      earliestMs: NOW_MS,
      latestMs: NOW_MS,
      measuredRuns: 0,
    });
  });

  it('estimates the start from measured run times, and omits it without them', () => {
    const candidates = [
      instance('9.1', ['gears', 'linux'], 'UP', true),
      instance('9.2', ['gears', 'linux'], 'UP', true),
    ];
    const busy = situation({ candidates, tasksAhead: 3 });
    expect(explain(busy)).toMatchObject({
      verdict: 'BUSY',
      estimate: null,
      message: '2 fitting instances are busy, 3 tasks are ahead.',
    });
    const runTimes = { lowMs: 10_000, medianMs: 20_000, highMs: 40_000, count: 12 };
    // Four tasks, this one among them, on two instances: the second round, after half of the first on the average.
    const explanation = explain({ ...busy, runTimes });
    expect(explanation.estimate).toEqual({
      earliestMs: NOW_MS + 10_000,
      expectedMs: NOW_MS + 30_000,
      latestMs: NOW_MS + 80_000,
      measuredRuns: 12,
    });
    expect(explanation.message).toBe(
      '2 fitting instances are busy, 3 tasks are ahead; expected to start in 30 s (between 10 s and 80 s).',
    );
  });

  it('estimates no start from tasks that are counted up to the limit only', () => {
    const candidates = [instance('9.1', ['gears', 'linux'], 'UP', true)];
    const runTimes = { lowMs: 10_000, medianMs: 20_000, highMs: 40_000, count: 12 };
    const ahead = (tasksAhead: number) => explain(situation({ candidates, tasksAhead, runTimes }));
    expect(ahead(MAX_TASKS_AHEAD - 1).estimate).not.toBeNull();
    expect(ahead(MAX_TASKS_AHEAD)).toMatchObject({
      estimate: null,
      message: '1 fitting instance is busy, at least 10000 tasks are ahead.',
    });
  });

  it('estimates no start while all instances run tasks of unknown end', () => {
    const labels = ['gears', 'linux'];
    const runTimes = { lowMs: 10_000, medianMs: 20_000, highMs: 40_000, count: 12 };
    const endless = { ...instance('9.1', labels, 'UP', true), isEndForeseeable: false };
    const other = { ...instance('8.0', labels, 'UP', true), isEndForeseeable: true };
    expect(explain(situation({ candidates: [endless, endless, other], runTimes }))).toMatchObject({
      verdict: 'BUSY',
      estimate: null,
      message: '2 fitting instances are busy, 0 tasks are ahead; when they will be free cannot be foreseen.',
    });
  });

  it('estimates the start from instances whose tasks have a known end; another may be free earlier', () => {
    const labels = ['gears', 'linux'];
    const runTimes = { lowMs: 10_000, medianMs: 20_000, highMs: 40_000, count: 12 };
    const endless = { ...instance('9.1', labels, 'UP', true), isEndForeseeable: false };
    const ordinary = { ...instance('9.2', labels, 'UP', true), isEndForeseeable: true };
    const candidates = [endless, ordinary];
    // Two tasks: one round of both instances, or two of the one.
    expect(explain(situation({ candidates, tasksAhead: 1, runTimes })).estimate).toEqual({
      earliestMs: NOW_MS,
      expectedMs: NOW_MS + 30_000,
      latestMs: NOW_MS + 80_000,
      measuredRuns: 12,
    });
  });

  it('includes in the estimate idle instances for which other tasks are ahead', () => {
    const labels = ['gears', 'linux'];
    const candidates = [instance('9.1', labels), instance('9.2', labels, 'UP', true)];
    const runTimes = { lowMs: 10_000, medianMs: 20_000, highMs: 40_000, count: 12 };
    // One of the two ahead begins at once; the other and this one are the first round of both instances.
    const explanation = explain(situation({ candidates, tasksAhead: 2, runTimes }));
    expect(explanation).toMatchObject({
      verdict: 'BUSY',
      estimate: { earliestMs: NOW_MS, expectedMs: NOW_MS + 10_000, latestMs: NOW_MS + 40_000 },
    });
  });

  it('says PAUSED during shutdown preparation', () => {
    const candidates = [instance('9.1', ['gears', 'linux'])];
    expect(explain(situation({ candidates, dispatching: false }))).toMatchObject({
      verdict: 'PAUSED',
      estimate: null,
    });
  });

  it('counts every instance for a task without requirements', () => {
    const requirement = { version: null, labels: [] };
    const explanation = explain(situation({ requirement, candidates: [instance('1', [])] }));
    expect(explanation).toMatchObject({
      verdict: 'SOON',
      satisfyingAll: 1,
      unsatisfied: [],
      satisfyingAllButOne: [],
    });
  });
});
