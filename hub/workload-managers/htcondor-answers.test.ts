import { describe, expect, it } from 'vitest';
import { idOfCondorSubmit, isAboutTheSchedd, jobsOfCondorQ } from './htcondor-answers.js';

/** Members that condor_q 23.9 prints of each job. */
const JOB = { ClusterId: 12, ProcId: 0, WorkbenchHost: 'gears-1', ServerTime: 1_795_950_765 };
const RUNNING = {
  ...{ JobStatus: 2, RemoteHost: 'slot1_1@n1', JobCurrentStartDate: 1_795_950_705, WorkbenchWallTimeS: 1800 },
};
const RULE =
  "The job attribute PeriodicRemove expression '(JobStatus == 2 && time() - JobCurrentStartDate >= WorkbenchWallTimeS)' evaluated to TRUE";
const jobOf = (members: object) => jobsOfCondorQ(JSON.stringify([{ ...JOB, ...members }]))?.[0];

describe('the list of condor_q', () => {
  it('has running jobs with their remaining time by the clock of HTCondor', () => {
    expect(jobOf(RUNNING)).toEqual({
      ...{ name: 'gears-1', jobId: '12.0', state: 'RUNNING', remainingMs: 1_740_000, reason: null },
    });
    expect(jobOf({ ...RUNNING, JobCurrentStartDate: 0 })?.remainingMs).toBe(0);
    expect(jobOf({ ...RUNNING, WorkbenchWallTimeS: undefined })?.remainingMs).toBeNull();
  });

  it('is empty without jobs', () => {
    expect(jobsOfCondorQ('\n')).toEqual([]);
  });

  it.each([
    [{ JobStatus: 1 }, 'QUEUED', null],
    [
      { JobStatus: 5, HoldReason: 'Failed to execute', HoldReasonCode: 6 },
      'STUCK',
      'it is held: Failed to execute',
    ],
    [{ JobStatus: 5, HoldReason: 'by hand', HoldReasonCode: 1 }, 'QUEUED', 'it is held: by hand'],
    [{ JobStatus: 5, HoldReasonCode: 15 }, 'QUEUED', 'it is held: HTCondor gives no reason'],
    [{ JobStatus: 5 }, 'QUEUED', 'it is held: HTCondor gives no reason'],
    [{ ...RUNNING, JobStatus: 6 }, 'RUNNING', null],
    [{ ...RUNNING, JobStatus: 7 }, 'RUNNING', 'it is suspended'],
    [{ ...RUNNING, JobStatus: 3, RemoveReason: 'via condor_rm' }, 'RUNNING', null],
    [{ JobStatus: 3, RemoveReason: 'via condor_rm (by user hub)' }, 'ENDED', 'via condor_rm (by user hub)'],
    [{ JobStatus: 3 }, 'ENDED', 'it was removed'],
    [{ JobStatus: 3, RemoveReason: RULE, ExitCode: 0 }, 'ENDED', 'its wall time was over'],
    [{ JobStatus: 3, RemoveReason: RULE }, 'ENDED', 'it was put back into the queue'],
    [
      { JobStatus: 3, RemoveReason: RULE, LastHoldReason: 'no such file' },
      'ENDED',
      'it was held: no such file',
    ],
    [{ JobStatus: 4, ExitCode: 3 }, 'ENDED', 'exit code 3'],
    [{ JobStatus: 4, ExitSignal: 9 }, 'ENDED', 'ended by signal 9'],
  ])('has the state of %j', (members, state, reason) => {
    expect(jobOf(members)).toMatchObject({ state, reason });
  });

  it.each([
    '-- Schedd: hub',
    '{}',
    '[null]',
    '[1]',
    '[{}]',
    JSON.stringify([{ ...JOB, JobStatus: 8 }]),
    JSON.stringify([{ ...JOB, JobStatus: 1, WorkbenchHost: 5 }]),
    '[{"ClusterId": 12',
  ])('is not understood as %s', (text) => {
    expect(jobsOfCondorQ(text)).toBeUndefined();
  });
});

describe('the answer of condor_submit', () => {
  it('has the id of the job after warnings', () => {
    expect(idOfCondorSubmit('WARNING: the line is unused\n12.0 - 12.0\n')).toBe('12.0');
    expect(idOfCondorSubmit('12.0 - 12.4\n')).toBeUndefined();
    expect(idOfCondorSubmit('')).toBeUndefined();
  });

  it.each([
    ['ERROR: Failed to connect to local queue manager\nSECMAN:2011:Connection closed', true],
    ["ERROR: Can't find address of local schedd", true],
    [
      'ERROR: Failed to commit job submission into the queue.\nERROR: there is no accounting group other',
      false,
    ],
    ["ERROR: I don't know about the 'nonsense' universe.", false],
    ['ERROR: Parse error in expression: \n\tRequestMemory = nonsense((', false],
  ])('%j is about the way to the schedd: %s', (complaint, isAway) => {
    expect(isAboutTheSchedd(complaint)).toBe(isAway);
  });
});
