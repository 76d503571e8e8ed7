import type { AgentUpdate } from '@workbench-hub/shared/domain/agent-update';
import { describe, expect, it } from 'vitest';
import {
  groupOf,
  hoursLeftMin,
  isOtherMember,
  type MemberInRollout,
  memberAfter,
  progressOf,
  type RolloutMember,
  type RolloutProgress,
  type RolloutRules,
  rolloutState,
  rolloutStep,
  rolloutTarget,
} from './agent-rollout.js';

const RULES: RolloutRules = {
  groups: [{ labels: ['test'] }, { labels: ['Hall-2', 'gears'] }, { labels: [] }],
  canaries: 1,
  atOnce: 2,
  hours: null,
};

const member = (
  agentId: string,
  progress: RolloutProgress = 'OPEN',
  ...labels: string[]
): MemberInRollout => ({ agentId, group: groupOf(labels, RULES.groups) ?? 9, progress, isAway: false });
const away = (each: MemberInRollout): MemberInRollout => ({ ...each, isAway: true });
const step = (...members: MemberInRollout[]) => rolloutStep(members, RULES);
const ordered = (...members: MemberInRollout[]) => step(...members).order;

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
    expect(groupOf(['other'], rules.groups)).toBeUndefined();
    // Their group is configured no more.
    const others = [member('a'), member('b', 'FAILED')].map((each) => ({ ...each, group: 1 }));
    expect(rolloutStep(others, rules)).toEqual(none);
    expect(rolloutStep([], RULES)).toEqual(none);
  });

  it('orders no agent that is away, and waits for one that was ordered', () => {
    expect(ordered(away(member('a')), member('b'))).toEqual(['b']);
    expect(ordered(away(member('a', 'UNDER_WAY')), member('b'))).toEqual([]);
    expect(ordered(away(member('a', 'DONE')), member('b'))).toEqual(['b']);
    expect(step(away(member('a', 'FAILED')), member('b')).stoppedBy).toEqual(['a']);
  });

  it('goes on past agents that cannot take part, or were passed over', () => {
    const none = [member('a', 'UNKNOWN'), member('b', 'UNABLE'), member('c', 'PASSED_OVER')];
    expect(ordered(...none, member('d'), member('e'))).toEqual(['d']);
    expect(ordered(...none)).toEqual([]);
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
    [{ unable: 'it is a container' }, 'UNABLE'],
    [{ system: 'linux-arm64' }, 'UNABLE'],
  ])('follows from what it tells: %j', (told, expected) => {
    expect(progressOf({ ...idle, ...told }, files)).toBe(expected);
  });

  const after = (
    kept: Partial<RolloutMember> | undefined,
    told: Partial<AgentUpdate> | undefined,
    isOrdered = false,
  ) =>
    memberAfter(
      kept && { ...memberAt(kept.progress ?? 'OPEN'), ...kept },
      { agentId: 'a', group: 0, told: told && { ...idle, ...told } },
      { files: { ...files, find: () => undefined }, isOrdered, nowMs: 50 },
    );
  const memberAt = (progress: RolloutProgress): RolloutMember => ({
    ...{ agentId: 'a', group: 0, progress, running: '0.1.0-f', reason: null, log: null, changedAtMs: 10 },
  });

  it.each<[RolloutProgress | undefined, Partial<AgentUpdate> | undefined, RolloutProgress]>([
    [undefined, {}, 'OPEN'],
    [undefined, undefined, 'UNKNOWN'],
    ['OPEN', undefined, 'OPEN'],
    ['DONE', undefined, 'DONE'],
    // It was ordered, and restarts.
    ['WAITING', undefined, 'UNDER_WAY'],
    ['UNDER_WAY', undefined, 'UNDER_WAY'],
    ['UNDER_WAY', {}, 'OPEN'],
    ['DONE', { failed }, 'FAILED'],
    // A failure stays until the version works there, or the rollout is resumed.
    ['FAILED', {}, 'FAILED'],
    ['FAILED', { phase: 'DOWNLOADING' }, 'FAILED'],
    ['FAILED', undefined, 'FAILED'],
    ['FAILED', { running: name }, 'DONE'],
    ['PASSED_OVER', { failed }, 'PASSED_OVER'],
    ['PASSED_OVER', { running: name }, 'DONE'],
    ['FAILED', { unable: 'it is a container' }, 'UNABLE'],
  ])('%s is, with %j, %s', (kept, told, expected) => {
    expect(after(kept && { progress: kept }, told).progress).toBe(expected);
  });

  it('is WAITING when an order is too recent to be repeated', () => {
    expect(after({ progress: 'UNDER_WAY' }, { problem: 'ENOSPC' }, true)).toMatchObject({
      ...{ progress: 'WAITING', reason: 'ENOSPC', changedAtMs: 50 },
    });
  });

  it('is kept with its reason and its log', () => {
    const told = { failed: { ...failed, log: 'no library' } };
    const found = after({ progress: 'UNDER_WAY' }, told);
    expect(found).toMatchObject({ reason: 'it ended', log: 'no library', running: '0.1.0-f' });
    // A later version has failed there since.
    expect(after(found, { failed: { ...failed, name: '0.3.0-a' } })).toEqual(found);
    expect(after({}, { system: 'linux-arm64' })).toMatchObject({
      reason: 'this hub has no file for its system, linux-arm64',
    });
    expect(isOtherMember(found, { ...found, changedAtMs: 99 })).toBe(false);
    expect(isOtherMember(found, { ...found, group: 1 })).toBe(true);
    expect(isOtherMember(undefined, found)).toBe(true);
  });

  it('is about a version with its files, in any order', () => {
    const two = [...files.files, { system: 'win-x64', digest: 'f'.repeat(64), sizeBytes: 1 }];
    const target = rolloutTarget({ version: '0.2.0', files: two });
    expect(target).toBe(`0.2.0 linux-x64:0123456789abcdef win-x64:${'f'.repeat(16)}`);
    expect(rolloutTarget({ version: '0.2.0', files: two.reverse() })).toBe(target);
  });
});

describe('the state of a rollout', () => {
  const rollout = { target: 't', version: '0.2.0', begunAtMs: 1, stoppedAtMs: null, stoppedBy: null };
  const facts = { rollout, rules: RULES, members: [member('a')], isInHours: true, areHubsAlike: true };
  const failed = member('b', 'FAILED');
  it.each([
    [{}, 'RUNNING'],
    [{ rollout: undefined, members: [] }, 'RUNNING'],
    [{ rules: null }, 'ON_REQUEST'],
    [{ members: [member('a'), failed] }, 'STOPPED'],
    [{ members: [member('a'), { ...failed, group: 3 }] }, 'RUNNING'],
    [{ rollout: { ...rollout, stoppedAtMs: 5, stoppedBy: 'anna' } }, 'STOPPED'],
    [{ isInHours: false }, 'WAITING_FOR_HOURS'],
    [{ areHubsAlike: false }, 'WAITING_FOR_HUBS'],
    [{ members: [member('a', 'DONE'), member('b', 'UNABLE'), member('c', 'PASSED_OVER')] }, 'DONE'],
  ])('follows from its facts: %j', (change, expected) => {
    expect(rolloutState({ ...facts, ...change })).toBe(expected);
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
