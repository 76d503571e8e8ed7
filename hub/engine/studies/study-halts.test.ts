import type { Logger } from '@workbench-hub/shared/runtime/logger';
import { manualRuntime } from '@workbench-hub/shared/runtime/manual-runtime';
import { beforeEach, expect, it } from 'vitest';
import type { ActiveStudy, PointQuery, StateChange } from '../../core/ports/studies.js';
import type { Point, Study, StudyState } from '../../core/studies/study.js';
import type { PlannedStudy } from './planned-study.js';
import { StudyHalts } from './study-halts.js';

const runtime = manualRuntime(1_000_000);
/** By how much the wall clock was set. */
let setByMs = 0;
const clock = { ...runtime.clock, nowMs: () => runtime.clock.nowMs() + setByMs };
const RECORD = {
  id: 's',
  state: 'RUNNING',
  runningSinceMs: 990_000,
  begunCount: 5,
} as unknown as ActiveStudy;

let changes: { readonly to: StudyState; readonly why: StateChange }[];
let failed: number;
let isChanged: boolean;
/** Points that have begun. */
let points: Point[];
let halts: StudyHalts;

beforeEach(() => {
  changes = [];
  setByMs = 0;
  failed = 0;
  isChanged = true;
  points = [];
  halts = new StudyHalts({
    runtime: { clock },
    log: { info: () => undefined } as unknown as Logger,
    studies: {
      failedSinceResume: async () => failed,
      points: async (_, { after, limit, outcomes }: PointQuery) =>
        points
          .filter(({ number, end }) => number > after && end !== null && outcomes.includes(end.outcome))
          .slice(0, limit),
      setState: async (_, __, to, why) => {
        changes.push({ to, why });
        return isChanged;
      },
    },
  });
});

const studyWith = (rules: object) =>
  ({
    id: 's',
    definition: {
      values: [],
      stopWhen: [],
      stopAfterFailures: null,
      stopAfterS: null,
      reuse: false,
      ...rules,
    },
  }) as unknown as Study;

/** Condition of a rule that stops the study. */
const LIGHT = { value: 'mass', lower: null, upper: 5 };

function reusedPoint(number: number, mass: number): Point {
  const end = {
    ...({ outcome: 'REUSED', cause: null, message: null, source: 't', startedAtMs: null } as const),
    values: [{ kind: 'NUMBER', value: mass }],
    endedAtMs: 995_000,
  } as const;
  return { number, tries: 0, variables: [], bundle: null, notReused: null, end };
}

it('a study without rules is not changed, and said not to be', async () => {
  const study = studyWith({});
  expect(await halts.stopByTime(study, RECORD)).toBe(false);
  expect(await halts.stopByFailures(study, RECORD)).toBe(false);
  expect(await halts.stopByValues(study, [])).toBe(false);
  expect(await halts.stopAsBefore(study, RECORD)).toBe(false);
  expect(changes).toEqual([]);
});

it('a study stops when as many points have failed as its rule says', async () => {
  const study = studyWith({ stopAfterFailures: 3 });
  failed = 2;
  expect(await halts.stopByFailures(study, RECORD)).toBe(false);
  failed = 3;
  expect(await halts.stopByFailures(study, RECORD)).toBe(true);
  expect(changes).toMatchObject([{ to: 'STOPPED', why: { runningSinceMs: 990_000, atMs: 1_000_000 } }]);
  isChanged = false;
  expect(await halts.stopByFailures(study, RECORD)).toBe(false);
});

it('a study pauses when each of its first results lacks the same value, once', async () => {
  const study = studyWith({ values: [{ name: 'mass' }] });
  const planned = { study, hasResults: false } as unknown as PlannedStudy;
  const without = { values: [{ kind: 'MISSING', reason: 'there is no file a' }] } as const;
  expect(await halts.pauseByResults(planned, [{ values: [] }])).toBe(false);
  expect(await halts.pauseByResults(planned, [without, without])).toBe(true);
  expect(changes).toMatchObject([{ to: 'PAUSED' }]);
  expect(changes[0]?.why.message).toContain('mass is missing: there is no file a');
  expect(await halts.pauseByResults(planned, [without])).toBe(false);
  expect(changes).toHaveLength(1);
});

it.each([1, 5])('a study stops as the hub before should have, at reused point %i of five', async (at) => {
  const study = studyWith({ reuse: true, values: [{ name: 'mass' }], stopWhen: [LIGHT] });
  points = [1, 2, 3, 4, 5].map((number) => reusedPoint(number, number === at ? 1 : 9));
  expect(await halts.stopAsBefore(study, RECORD)).toBe(true);
  expect(changes).toMatchObject([
    { to: 'STOPPED', why: { message: expect.stringContaining(`point ${at} `) } },
  ]);
});

it('a study stops at the time of its rule, and not before', async () => {
  expect(await halts.stopByTime(studyWith({ stopAfterS: 11 }), RECORD)).toBe(false);
  expect(await halts.stopByTime(studyWith({ stopAfterS: 10 }), { ...RECORD, state: 'PAUSED' })).toBe(false);
  expect(await halts.stopByTime(studyWith({ stopAfterS: 10 }), RECORD)).toBe(true);
});

it.each([
  ['ahead', 3_600_000],
  ['back', -3_600_000],
])('a study stops in its time when the clock is set %s', async (_, byMs) => {
  const study = studyWith({ stopAfterS: 30 });
  const record = { ...RECORD, runningSinceMs: runtime.clock.nowMs() };
  expect(halts.stopsInMs(study, record)).toBe(30_000);
  setByMs = byMs;
  await runtime.advance(29_999);
  expect(await halts.stopByTime(study, record)).toBe(false);
  await runtime.advance(1);
  expect(await halts.stopByTime(study, record)).toBe(true);
});
