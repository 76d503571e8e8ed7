import { describe, expect, it } from 'vitest';
import { clockOf, errorOf, jobsOf, versionOf } from './slurmrestd-answers.js';

const NOW_MS = 1_795_902_216_000;

describe('the version of slurmrestd', () => {
  it('is the newest one that the hub knows', () => {
    const paths = (...versions: number[]) => ({
      paths: Object.fromEntries(versions.map((each) => [`/slurm/v0.0.${each}/job/submit`, {}])),
    });
    expect(versionOf(paths(37, 38, 40, 39))).toBe(40);
    expect(versionOf(paths(42, 99))).toBe(42);
    expect(versionOf(paths(36))).toBeUndefined();
    expect(versionOf({})).toBeUndefined();
  });
});

/** Errors of slurmrestd 22.05. */
describe('an error of slurmrestd', () => {
  it.each([
    [
      { error_code: 2000, error: 'Invalid partition name specified' },
      true,
      'Invalid partition name specified',
    ],
    [{ error_code: 9001, error: 'Failure during parsing' }, true, 'Failure during parsing'],
    [
      { error_code: 1800, error: 'Unable to contact slurm controller (connect failure)' },
      false,
      'Unable to contact slurm controller (connect failure)',
    ],
    [
      { description: 'slurmctld config is unable to load', error_number: -1, error: 'Unspecified error' },
      false,
      'slurmctld config is unable to load',
    ],
  ])('is read from %o', (error, isAboutTheJob, words) => {
    expect(errorOf({ errors: [error] })).toEqual({ words, isAboutTheJob });
  });

  it('is not there without one', () => {
    expect(errorOf({ errors: [] })).toBeUndefined();
    expect(errorOf({})).toBeUndefined();
  });
});

describe('the jobs of slurmrestd', () => {
  const NAMES = new Set(['a']);
  const row = { name: 'a', job_id: 7, state_reason: 'None', time_limit: 30 };

  it('are read from the form of version 0.0.38', () => {
    const jobs = [
      { ...row, job_state: 'RUNNING', end_time: 1_795_904_016 },
      { ...row, job_state: 'PENDING', state_reason: 'Resources', end_time: 0 },
      { ...row, job_state: 'CANCELLED', end_time: 1_795_902_000 },
      { ...row, job_state: 'RUNNING', time_limit: null, end_time: 1_827_000_000 },
      { ...row, job_state: 'COMPLETING', end_time: 1_795_902_200 },
      { name: 'of somebody else', job_id: 8, job_state: 'NEW' },
    ];
    const job = { name: 'a', jobId: '7' };
    expect(jobsOf({ jobs }, NAMES, NOW_MS)).toEqual([
      { ...job, state: 'RUNNING', remainingMs: 1_800_000, reason: null },
      { ...job, state: 'QUEUED', remainingMs: null, reason: 'Resources' },
      { ...job, state: 'ENDED', remainingMs: null, reason: 'CANCELLED' },
      { ...job, state: 'RUNNING', remainingMs: null, reason: null },
      { ...job, state: 'RUNNING', remainingMs: null, reason: null },
    ]);
  });

  it('are read from the form of later versions', () => {
    const number = (value: number) => ({ set: true, infinite: false, number: value });
    const infinite = { set: false, infinite: true, number: 0 };
    const jobs = [
      { ...row, job_state: ['RUNNING'], time_limit: number(30), end_time: number(1_795_902_276) },
      { ...row, job_state: ['RUNNING'], time_limit: infinite, end_time: number(1_827_000_000) },
      { ...row, job_state: ['RUNNING', 'CONFIGURING'], time_limit: number(30), end_time: number(0) },
      {
        ...row,
        job_state: ['OUT_OF_MEMORY', 'COMPLETING'],
        time_limit: number(30),
        end_time: number(1_795_902_200),
      },
    ];
    expect(jobsOf({ jobs }, NAMES, NOW_MS)).toMatchObject([
      { state: 'RUNNING', remainingMs: 60_000 },
      { state: 'RUNNING', remainingMs: null },
      { state: 'QUEUED', remainingMs: null },
      { state: 'RUNNING', remainingMs: null },
    ]);
  });

  it('have no remaining time when the time of the controller is not known', () => {
    const jobs = [{ ...row, job_state: 'RUNNING', end_time: 1_795_904_016 }];
    expect(jobsOf({ jobs }, NAMES, null)).toMatchObject([{ state: 'RUNNING', remainingMs: null }]);
  });

  it.each([
    [{}],
    [{ jobs: [{ job_id: 7 }] }],
    [{ jobs: [{ ...row, job_state: 'NEW' }] }],
    [{ jobs: [{ ...row, job_id: 'seven', job_state: 'RUNNING' }] }],
  ])('are not read from %o', (answer) => expect(jobsOf(answer, NAMES, NOW_MS)).toBeUndefined());
});

it('reads the clock of the controller from its statistics, in both forms', () => {
  const number = { set: true, infinite: false, number: NOW_MS / 1000 };
  expect(clockOf({ statistics: { req_time: NOW_MS / 1000 } })).toBe(NOW_MS);
  expect(clockOf({ statistics: { req_time: number } })).toBe(NOW_MS);
  for (const answer of [{}, { statistics: [] }, { statistics: {} }, { statistics: { req_time: 0 } }])
    expect(clockOf(answer)).toBeNull();
});
