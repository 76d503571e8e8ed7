import { describe, expect, it } from 'vitest';
import { errorsOfQstat, idOfQsub, isAboutTheMaster, jobsOfQstat } from './grid-engine-answers.js';

/** Output of qstat 8.1.9, with times in UTC. */
const ANSWER = `<?xml version='1.0'?>
<job_info  xmlns:xsd="http://arc.liv.ac.uk/repos/darcs/sge/source/dist/util/resources/schemas/qstat/qstat.xsd">
  <queue_info>
    <job_list state="running">
      <JB_job_number>1</JB_job_number>
      <JAT_prio>0.50000</JAT_prio>
      <JB_name>test-1234567890-abcdef-long</JB_name>
      <JB_owner>root</JB_owner>
      <state>r</state>
      <JAT_start_time>2026-11-28T21:51:59</JAT_start_time>
      <queue_name>main.q@localhost</queue_name>
      <slots>1</slots>
      <full_job_name>test-1234567890-abcdef-long</full_job_name>
      <hard_request name="h_rt" resource_contribution="0.000000">1800</hard_request>
      <binding>NONE</binding>
    </job_list>
  </queue_info>
  <job_info>
    <job_list state="pending">
      <JB_job_number>3</JB_job_number>
      <JAT_prio>0.00000</JAT_prio>
      <JB_name>held-1</JB_name>
      <JB_owner>root</JB_owner>
      <state>hqw</state>
      <JB_submission_time>2026-11-28T21:51:59</JB_submission_time>
      <queue_name></queue_name>
      <slots>1</slots>
      <full_job_name>held-1</full_job_name>
      <hard_request name="h_rt" resource_contribution="0.000000">1800</hard_request>
      <binding>NONE</binding>
    </job_list>
  </job_info>
</job_info>
`;
/** Time that the same clock shows, a minute after the start of the job. */
const NOW_S = Date.parse('2026-11-28T21:52:59Z') / 1000;
const at = (xml: string, nowS = NOW_S) => `${xml}${nowS}\n`;
const RUNNING_NAME = 'test-1234567890-abcdef-long';

describe('the list of qstat', () => {
  it('has running and waiting jobs', () => {
    const names = new Set([RUNNING_NAME, 'held-1', 'other']);
    expect(jobsOfQstat(at(ANSWER), names)).toEqual([
      { name: RUNNING_NAME, jobId: '1', state: 'RUNNING', remainingMs: 1_740_000, reason: null },
      { name: 'held-1', jobId: '3', state: 'QUEUED', remainingMs: null, reason: 'it is held' },
    ]);
    expect(jobsOfQstat(at(ANSWER), new Set(['other']))).toEqual([]);
  });

  it.each([
    ['qw', 'QUEUED', null],
    ['t', 'RUNNING', null],
    ['Rr', 'RUNNING', null],
    ['dr', 'RUNNING', 'it is being deleted'],
    ['S', 'RUNNING', 'it is suspended'],
    ['Rq', 'QUEUED', null],
    ['Eqw', 'STUCK', 'Grid Engine could not start it (state Eqw)'],
    ['hqw', 'QUEUED', 'it is held'],
  ])('has the state %s', (letters, state, reason) => {
    const answer = ANSWER.replace('<state>r</state>', `<state>${letters}</state>`);
    expect(jobsOfQstat(at(answer), new Set([RUNNING_NAME]))).toMatchObject([{ state, reason }]);
  });

  it('has no remaining time without a limit, and none below zero', () => {
    const remaining = (request: string, nowS = NOW_S) =>
      jobsOfQstat(at(ANSWER.replace('>1800<', `>${request}<`), nowS), new Set([RUNNING_NAME]))?.[0]
        ?.remainingMs;
    expect(remaining('0:30:00')).toBe(1_740_000);
    expect(remaining('INFINITY')).toBeNull();
    expect(remaining('1800', NOW_S + 86_400)).toBe(0);
  });

  it.each([
    '',
    'error: commlib error',
    at(''),
    ANSWER,
    at(ANSWER.slice(0, -20)),
    at(ANSWER.replaceAll('JB_job_number', 'x')),
  ])('is not understood when it is something else', (answer) =>
    expect(jobsOfQstat(answer, new Set([RUNNING_NAME]))).toBeUndefined(),
  );
});

/** Output of qstat -j 8.1.9, in parts. */
it('finds why jobs could not be started', () => {
  const of = (id: number, rest: string) =>
    `==============================================================\njob_number:                 ${id}\nowner:                      root\n${rest}`;
  const error =
    'error reason    1:          11/30/2026 06:59:01 [0:70]: error: can\'t open output file "/no/x"\n';
  expect([...errorsOfQstat(`${of(7, '')}${of(8, error)}scheduling info:            none\n`)]).toEqual([
    ['8', '11/30/2026 06:59:01 [0:70]: error: can\'t open output file "/no/x"'],
  ]);
  expect(errorsOfQstat('Following jobs do not exist: \n7\n').size).toBe(0);
});

it('finds the id that qsub prints', () => {
  expect(idOfQsub('17\n')).toBe('17');
  expect(idOfQsub('a warning\n17\n')).toBe('17');
  expect(idOfQsub('verification: found suitable queue(s)\n')).toBeUndefined();
});

it('tells a master that is away from a job that is refused', () => {
  const away = [
    'error: commlib error: got select error (Connection refused)\nUnable to run job: unable to send message to qmaster using port 6444 on host "localhost": got send error',
    'error: commlib error: got select error (Connection reset by peer)',
  ];
  const refused = [
    'Unable to run job: Job was rejected because job requests unknown queue "nope.q"',
    'Unable to run job: unknown resource "nope"',
    'qsub: invalid option argument "-bogus"',
  ];
  expect(away.filter(isAboutTheMaster)).toEqual(away);
  expect(refused.filter(isAboutTheMaster)).toEqual([]);
});
