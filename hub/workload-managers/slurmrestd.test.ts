/** The driver with answers that a real slurmrestd seldom gives; test/hosts/slurm.test.ts has the others. */
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemRuntime } from '@workbench-hub/shared/runtime/system-runtime';
import { expect, it, onTestFinished } from 'vitest';
import { slurmrestd } from './slurmrestd.js';

const allocation = {
  folder: '/shared',
  scratch: null,
  agentCommand: ['agent'],
  agentConfigOf: () => ({}),
  wallTimeMs: 60_000,
};
const DESCRIPTION = { paths: { '/slurm/v0.0.38/job/submit': {} } };

interface Reply {
  readonly status: number;
  readonly body: string;
}

async function driverOf(reply: (request: IncomingMessage) => Reply, token = 'SLURM_JWT=abc\n') {
  const folder = await mkdtemp(join(tmpdir(), 'workbench-test-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  const tokenFile = join(folder, 'token');
  await writeFile(tokenFile, token);
  const requests: IncomingMessage[] = [];
  const server = createServer((request, response) => {
    requests.push(request);
    const { status, body } = reply(request);
    response.writeHead(status).end(body);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  const settings = { kind: 'slurmrestd' as const, via: [], url, user: 'hub', tokenFile, options: {} };
  return { driver: slurmrestd(settings, allocation, systemRuntime.timers), requests, tokenFile, server };
}

const json = (body: object, status = 200): Reply => ({ status, body: JSON.stringify(body) });

it('shows its token, and asks for the versions again after an upgrade', async () => {
  let version = 38;
  const { driver, requests } = await driverOf(({ url = '' }) => {
    if (url === '/openapi/v3') return json({ paths: { [`/slurm/v0.0.${version}/job/submit`]: {} } });
    if (url === `/slurm/v0.0.${version}/jobs`) return json({ errors: [], jobs: [] });
    return { status: 404, body: 'Unable find requested URL.' };
  });
  expect(await driver.jobs(['a'])).toEqual([]);
  version = 40;
  expect(await driver.jobs(['a'])).toEqual([]);
  const paths = [
    '/openapi/v3',
    '/slurm/v0.0.38/jobs',
    '/slurm/v0.0.38/jobs',
    '/openapi/v3',
    '/slurm/v0.0.40/jobs',
  ];
  expect(requests.map(({ url }) => url)).toEqual(paths);
  expect(requests[0]?.headers).toMatchObject({ 'x-slurm-user-name': 'hub', 'x-slurm-user-token': 'abc' });
});

it('says what to do when the token is not taken', async () => {
  const { driver, tokenFile } = await driverOf(() => ({ status: 401, body: 'Authentication failure' }));
  await expect(driver.jobs(['a'])).rejects.toMatchObject({
    fault: 'UNAVAILABLE',
    message: expect.stringMatching(
      new RegExp(
        `was answered with 401; look whether slurmctld runs, and whether ${tokenFile} has a valid token of hub`,
      ),
    ),
  });
});

it.each([
  ['', /must have one token for slurmrestd/],
  ['two words', /must have one token for slurmrestd/],
])('does not ask with the token %j', async (token, message) => {
  const { driver, requests } = await driverOf(() => json(DESCRIPTION), token);
  await expect(driver.jobs(['a'])).rejects.toMatchObject({
    fault: 'UNAVAILABLE',
    message: expect.stringMatching(message),
  });
  expect(requests).toEqual([]);
});

it.each([
  [json({ errors: [] }), /was answered with 200/],
  [{ status: 200, body: '<html>' }, /was answered with 200/],
  [{ status: 502, body: 'bad gateway' }, /was answered with 502/],
])('does not take %o for a job that was handed in', async (reply, message) => {
  const { driver } = await driverOf(({ url }) => (url === '/openapi/v3' ? json(DESCRIPTION) : reply));
  await expect(driver.submit({ name: 'a', script: '/s' })).rejects.toMatchObject({
    fault: 'UNAVAILABLE',
    message: expect.stringMatching(message),
  });
});

it('says that nothing listens', async () => {
  const { driver, server } = await driverOf(() => json(DESCRIPTION));
  server.close();
  await once(server, 'close');
  await expect(driver.jobs(['a'])).rejects.toMatchObject({
    fault: 'UNAVAILABLE',
    message: expect.stringContaining('ECONNREFUSED'),
  });
});

it.each([
  ['hours ahead', 2_000_000_000],
  ['hours behind', 1_500_000_000],
])('has what is left of a job by the clock of the controller, which is %s', async (_, nowS) => {
  const job = { job_id: 7, name: 'a', job_state: 'RUNNING', time_limit: 30, state_reason: 'None' };
  let isSecret = false;
  const { driver } = await driverOf(({ url = '' }) => {
    if (url === '/openapi/v3') return json(DESCRIPTION);
    if (url.endsWith('/jobs')) return json({ jobs: [{ ...job, end_time: nowS + 600 }] });
    return isSecret ? json({ errors: [] }, 500) : json({ statistics: { req_time: nowS } });
  });
  expect(await driver.jobs(['a'])).toMatchObject([{ state: 'RUNNING', remainingMs: 600_000 }]);
  isSecret = true;
  expect(await driver.jobs(['a'])).toMatchObject([{ state: 'RUNNING', remainingMs: null }]);
});

it('does not cancel jobs of other names', async () => {
  const job = {
    job_id: 7,
    name: 'other',
    job_state: 'RUNNING',
    time_limit: 1,
    end_time: 0,
    state_reason: 'None',
  };
  const { driver, requests } = await driverOf(({ url }) =>
    json(url === '/openapi/v3' ? DESCRIPTION : { jobs: [job] }),
  );
  await driver.cancel('a');
  expect(requests.map(({ method }) => method)).toEqual(['GET', 'GET']);
  await driver.cancel('other');
  expect(requests.at(-1)).toMatchObject({ method: 'DELETE', url: '/slurm/v0.0.38/job/7' });
});
