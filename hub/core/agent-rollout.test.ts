import type { AgentUpdate } from '@workbench-hub/shared/domain/agent-update';
import { describe, expect, it } from 'vitest';
import {
  hoursLeftMin,
  progressOf,
  type RolloutMember,
  type RolloutProgress,
  type RolloutRules,
  rolloutStep,
} from './agent-rollout.js';

const RULES: RolloutRules = {
  groups: [{ labels: ['test'] }, { labels: ['Hall-2', 'gears'] }, { labels: [] }],
  canaries: 1,
  atOnce: 2,
  hours: null,
};

const member = (agentId: string, progress: RolloutProgress = 'OPEN', ...labels: string[]): RolloutMember => ({
  agentId,
  labels,
  progress,
});
const step = (...members: RolloutMember[]) => rolloutStep(members, RULES);
const ordered = (...members: RolloutMember[]) => step(...members).order;

describe('a rollout', () => {
  it('begins with the canaries of the first group', () => {
    expect(ordered(member('b', 'OPEN', 'test'), member('a', 'OPEN', 'TEST'), member('c'))).toEqual(['a']);
    expect(ordered(member('b', 'OPEN', 'test'), member('a', 'UNDER_WAY', 'test'))).toEqual([]);
    expect(ordered(member('b', 'OPEN', 'test'), member('a', 'WAITING', 'test'))).toEqual([]);
  });

  it('goes on with some at a time when the canaries are done', () => {
    const of = (...progress: RolloutProgress[]) =>
      ordered(...progress.map((each, index) => member(`${index}`, each, 'test')));
    expect(of('DONE', 'OPEN', 'OPEN', 'OPEN')).toEqual(['1', '2']);
    expect(of('DONE', 'UNDER_WAY', 'OPEN', 'OPEN')).toEqual(['2']);
    expect(of('DONE', 'UNDER_WAY', 'UNDER_WAY', 'OPEN')).toEqual([]);
    expect(of('DONE', 'WAITING', 'WAITING', 'OPEN')).toEqual(['3']);
  });

  it('goes on with the next group when all of one are done, or wait for their tasks', () => {
    const gears = member('b', 'OPEN', 'hall-2', 'gears');
    const others = [member('c', 'OPEN', 'hall-2'), member('d')];
    expect(ordered(member('a', 'DONE', 'test'), gears, ...others)).toEqual(['b']);
    expect(ordered(member('a', 'WAITING', 'test'), gears, ...others)).toEqual([]);
    expect(ordered(member('a', 'DONE', 'test'), { ...gears, progress: 'DONE' }, ...others)).toEqual(['c']);
    expect(ordered(gears, ...others)).toEqual(['b']);
  });

  it('is stopped by one failure, of whichever group', () => {
    const failed = member('z', 'FAILED');
    expect(step(member('a', 'OPEN', 'test'), failed)).toEqual({ order: [], stoppedBy: ['z'] });
  });

  it('leaves out agents of no group, and their failures', () => {
    const rules = { ...RULES, groups: [{ labels: ['test'] }] };
    const none = { order: [], stoppedBy: [] };
    expect(rolloutStep([member('a'), member('b', 'FAILED')], rules)).toEqual(none);
    expect(rolloutStep([], RULES)).toEqual(none);
  });
});

describe('the progress of an agent', () => {
  const files = {
    version: '0.2.0',
    files: [{ system: 'linux-x64', digest: '0123456789abcdef'.repeat(4), sizeBytes: 1 }],
  };
  const name = '0.2.0-0123456789abcdef';
  const idle: AgentUpdate = {
    unable: null,
    system: 'linux-x64',
    phase: 'IDLE',
    running: '0.1.0-f',
    target: null,
    problem: null,
    failed: null,
  };
  const failed = { name, reason: 'it ended', log: '', agoMs: 1 };
  it.each<[Partial<AgentUpdate>, RolloutProgress | undefined]>([
    [{}, 'OPEN'],
    [{ failed: { ...failed, name: '0.1.5-a' } }, 'OPEN'],
    [{ failed }, 'FAILED'],
    [{ failed, running: name }, 'DONE'],
    [{ running: name }, 'DONE'],
    [{ running: name, phase: 'TRIAL' }, 'UNDER_WAY'],
    [{ failed, phase: 'DOWNLOADING' }, 'UNDER_WAY'],
    [{ phase: 'WAITING' }, 'WAITING'],
    [{ unable: 'it is a container' }, undefined],
    [{ system: 'linux-arm64' }, undefined],
  ])('follows from what it tells: %j', (told, expected) => {
    expect(progressOf({ ...idle, ...told }, files)).toBe(expected);
  });
});

it.each([
  [null, 12 * 60, null],
  [{ from: 22 * 60, to: 5 * 60 }, 22 * 60, 7 * 60],
  [{ from: 22 * 60, to: 5 * 60 }, 4 * 60 + 59, 1],
  [{ from: 22 * 60, to: 5 * 60 }, 5 * 60, 0],
  [{ from: 22 * 60, to: 5 * 60 }, 12 * 60, 0],
  [{ from: 60, to: 120 }, 90, 30],
  [{ from: 60, to: 120 }, 30, 0],
])('leaves of the hours %j at minute %d: %j', (hours, minute, left) => {
  expect(hoursLeftMin(hours, minute)).toBe(left);
});
