import { expect, it } from 'vitest';
import {
  crashed,
  installedOnly,
  neededVersions,
  stateFor,
  takenBack,
  trialBegun,
  trialFailed,
  trialProven,
  trialStarted,
  trialUntried,
  untriedPauseMs,
  type VersionState,
  wantedVersion,
} from './version-states.js';

const BUILD = '0.1.0 abc';
const LIVEZ = 'http://127.0.0.1:1/livez';
const HOUR_MS = 60 * 60_000;
const WHY = { reason: 'it ended with exit code 1', log: 'the last words' };

const fresh = installedOnly(BUILD);
const onTrial = trialStarted(trialBegun(fresh, 'new', LIVEZ), 0);
const proven = trialProven(onTrial, 1000);

it('runs the installed file until a version is on trial, and that one once it has proven itself', () => {
  expect(wantedVersion(fresh)).toBeNull();
  expect(wantedVersion(onTrial)).toBe('new');
  expect(onTrial.current).toBeNull();
  expect(wantedVersion(proven)).toBe('new');
  expect(proven).toMatchObject({ current: 'new', previous: null, trial: null, provenAtMs: 1000 });
});

it('runs the version before again when a trial has failed, and remembers the reason', () => {
  const second = trialStarted(trialBegun(proven, 'newer', LIVEZ), 2000);
  const failed = trialFailed(second, WHY, 3000);
  expect(wantedVersion(failed)).toBe('new');
  expect(failed.failed).toEqual([{ ...WHY, name: 'newer', atMs: 3000 }]);
});

it('gives up a trial that takes the machine down with it again and again', () => {
  let state: VersionState = trialBegun(fresh, 'new', LIVEZ);
  for (let start = 1; start <= 3; start++) {
    state = trialStarted(state, start);
    expect(state.trial?.starts).toBe(start);
  }
  state = trialStarted(state, 4);
  expect(wantedVersion(state)).toBeNull();
  expect(state.failed[0]?.reason).toBe('it did not prove itself in 3 starts');
});

it('runs the version before again when the host could not try one, and tries that again after longer and longer pauses', () => {
  const MINUTE_MS = 60_000;
  const { untried: _, ...earlier } = onTrial;
  let state = trialUntried(earlier, 'the disk is full', 0);
  expect(wantedVersion(state)).toBeNull();
  expect(state.failed).toEqual([]);
  const pauses: number[] = [];
  for (let times = 1; times <= 5; times++) {
    pauses.push(untriedPauseMs(state, 'new', 0) / MINUTE_MS);
    state = trialUntried(trialBegun(state, 'new', LIVEZ), 'the disk is full', 0);
  }
  expect(pauses).toEqual([10, 20, 40, 60, 60]);
  expect(untriedPauseMs(state, 'new', 59 * MINUTE_MS)).toBe(MINUTE_MS);
  expect(untriedPauseMs(state, 'new', HOUR_MS)).toBe(0);
  // The clock was set back.
  expect(untriedPauseMs(state, 'new', -1)).toBe(0);
  expect(untriedPauseMs(state, 'newer', 0)).toBe(0);
  const after = trialBegun(state, 'new', LIVEZ);
  for (const done of [trialProven(after, 0), trialFailed(after, WHY, 0)]) expect(done.untried).toBeNull();
});

it('takes a version back that crashes three times on the day after it had proven itself', () => {
  const twice = crashed(crashed(proven, WHY, HOUR_MS), WHY, 2 * HOUR_MS);
  expect(twice).toMatchObject({ current: 'new', crashes: 2, failed: [] });
  const thrice = crashed(twice, WHY, 3 * HOUR_MS);
  expect(thrice).toMatchObject({ current: null, previous: null, provenAtMs: null, crashes: 0 });
  expect(thrice.failed[0]?.name).toBe('new');
});

it('counts no crash after that day, and none of the installed file', () => {
  expect(crashed(proven, WHY, 1000 + 25 * HOUR_MS)).toBe(proven);
  expect(crashed(fresh, WHY, HOUR_MS)).toBe(fresh);
});

it('goes back over the version before to the installed file when neither can be run', () => {
  const newer = trialProven(trialStarted(trialBegun(proven, 'newer', LIVEZ), 0), 2000);
  expect(newer).toMatchObject({ current: 'newer', previous: 'new' });
  const back = takenBack(newer, WHY, 3000);
  expect(wantedVersion(back)).toBe('new');
  expect(wantedVersion(takenBack(back, WHY, 3000))).toBeNull();
  expect(takenBack(fresh, WHY, 3000)).toBe(fresh);
});

it('prefers a file that was installed since, and still knows what has failed', () => {
  const failed = trialFailed(trialStarted(trialBegun(proven, 'bad', LIVEZ), 0), WHY, 0);
  expect(stateFor(BUILD, failed)).toBe(failed);
  expect(stateFor('0.2.0 def', failed)).toEqual({ ...installedOnly('0.2.0 def'), failed: failed.failed });
  expect(stateFor(BUILD, null)).toEqual(fresh);
});

it('keeps the versions that may be started, and the latest five that failed', () => {
  const both = trialProven(trialStarted(trialBegun(proven, 'newer', LIVEZ), 0), 0);
  expect(neededVersions(trialBegun(both, 'newest', LIVEZ))).toEqual(new Set(['new', 'newer', 'newest']));
  expect(neededVersions(fresh)).toEqual(new Set());
  let state: VersionState = fresh;
  for (const name of ['a', 'b', 'c', 'd', 'e', 'f', 'c'])
    state = trialFailed(trialStarted(trialBegun(state, name, LIVEZ), 0), WHY, 0);
  expect(state.failed.map(({ name }) => name)).toEqual(['c', 'f', 'e', 'd', 'b']);
});

it('keeps the end of a long log', () => {
  const long = `${'x'.repeat(20_000)}end`;
  const [latest] = trialFailed(onTrial, { reason: 'r', log: long }, 0).failed;
  expect(latest?.log).toHaveLength(16_384);
  expect(latest?.log.endsWith('end')).toBe(true);
});
