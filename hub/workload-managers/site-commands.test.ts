import { expect, it } from 'vitest';
import type { ManagedJob } from '../core/ports/workload-manager.js';
import type { CommandEnd, CommandInput } from './run-command.js';
import { siteCommands } from './site-commands.js';

const allocation = {
  folder: '/shared',
  scratch: null,
  agentCommand: ['agent'],
  agentConfigOf: () => ({}),
  wallTimeMs: 90_500,
};

/** The driver with commands that end so, and what they were called with. */
function driverOf(end: Partial<CommandEnd>) {
  const calls: [readonly string[], CommandInput | undefined][] = [];
  const command = { submit: ['submit', '-x'], list: ['list'], cancel: ['cancel'], check: ['check'] };
  const driver = siteCommands({ kind: 'command', via: [], ...command }, allocation, async (words, input) => {
    calls.push([words, input]);
    return { name: words[0] ?? '', exitCode: 0, stdout: '', stderr: '', ...end };
  });
  return { driver, calls };
}

const job = (fields: Partial<ManagedJob>) => ({ remainingMs: null, reason: null, ...fields });

it('hands in a job by its script, and takes the last line as its id', async () => {
  const { driver, calls } = driverOf({ stdout: 'Welcome.\n\n77.server \n\n' });
  expect(await driver.submit({ name: 'a-1', script: '/shared/a-1/job.sh' })).toBe('77.server');
  const variables = {
    WORKBENCH_ALLOCATION: 'a-1',
    WORKBENCH_SCRIPT: '/shared/a-1/job.sh',
    WORKBENCH_WALL_TIME_S: '91',
  };
  expect(calls).toEqual([[['submit', '-x'], { variables }]]);
});

it.each([
  [{ exitCode: 75, stderr: 'busy' }, 'UNAVAILABLE', 'submit ended with exit code 75: busy'],
  [{ exitCode: 1, stderr: 'no such queue' }, 'REFUSED', 'submit: no such queue'],
  [{ exitCode: 2 }, 'REFUSED', 'submit: exit code 2'],
  [{ stdout: '' }, 'UNAVAILABLE', 'submit must print the id of the job as its last line, and printed ""'],
  [
    { stdout: 'job 7 created' },
    'UNAVAILABLE',
    'submit must print the id of the job as its last line, and printed "job 7 created"',
  ],
])('takes the end %o of the submit command as %s', async (end, fault, message) => {
  const { driver } = driverOf(end);
  await expect(driver.submit({ name: 'a', script: 's' })).rejects.toMatchObject({ fault, message });
});

it('reads the lines of the list', async () => {
  const lines = [
    '7 a QUEUED',
    '6 a STUCK - no such image',
    '8 a QUEUED - held by its user',
    '9 b RUNNING 60',
    '10 b RUNNING 5 on n1',
  ];
  const others = ['11 a RUNNING -', '12 b ENDED exit code 3', '13 someone_else RUNNING 1'];
  const { driver, calls } = driverOf({ stdout: [...lines, '', ...others].join('\n') });
  expect(await driver.jobs(['a', 'b'])).toEqual([
    job({ jobId: '7', name: 'a', state: 'QUEUED' }),
    job({ jobId: '6', name: 'a', state: 'STUCK', reason: 'no such image' }),
    job({ jobId: '8', name: 'a', state: 'QUEUED', reason: 'held by its user' }),
    job({ jobId: '9', name: 'b', state: 'RUNNING', remainingMs: 60_000 }),
    job({ jobId: '10', name: 'b', state: 'RUNNING', remainingMs: 5000, reason: 'on n1' }),
    job({ jobId: '11', name: 'a', state: 'RUNNING' }),
    job({ jobId: '12', name: 'b', state: 'ENDED', reason: 'exit code 3' }),
  ]);
  expect(calls).toEqual([[['list'], { variables: { WORKBENCH_ALLOCATIONS: 'a b' } }]]);
});

it.each(['7 a', '7 a running', 'No jobs.', '<html>'])('does not take %j for a list', async (stdout) => {
  await expect(driverOf({ stdout }).driver.jobs(['a'])).rejects.toMatchObject({
    fault: 'UNAVAILABLE',
    message: expect.stringContaining(`and printed ${JSON.stringify(stdout)}`),
  });
});

it('takes any failure of list and cancel as not known', async () => {
  const { driver } = driverOf({ exitCode: 1, stderr: 'away' });
  const unavailable = (name: string) => ({
    fault: 'UNAVAILABLE',
    message: `${name} ended with exit code 1: away`,
  });
  await expect(driver.jobs(['a'])).rejects.toMatchObject(unavailable('list'));
  await expect(driver.cancel('a')).rejects.toMatchObject(unavailable('cancel'));
});

it('asks the check command, if there is one', async () => {
  expect(await driverOf({}).driver.check()).toBeNull();
  expect(await driverOf({ exitCode: 1, stdout: 'no such queue' }).driver.check()).toBe('no such queue');
  await expect(driverOf({ exitCode: 75 }).driver.check()).rejects.toMatchObject({ fault: 'UNAVAILABLE' });
});
