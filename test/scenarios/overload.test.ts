/** Far more requests than hub and agent can serve: both stay within their memory, and recover at once. */
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { Agent, request } from 'node:http';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { base64, restClient } from '../support/interface/rest-client.js';
import {
  endPrograms,
  type HubProgram,
  type Program,
  startAgent,
  startHub,
} from '../support/programs/programs.js';
import { type TemporaryFolder, temporaryFolder } from '../support/temporary-folder.js';

const MIB = 1024 * 1024;

let folder: TemporaryFolder;
beforeEach(async () => {
  folder = await temporaryFolder();
});
afterEach(async () => {
  await endPrograms();
  await folder.remove();
});

/** The most memory that a program has had. */
function peakMib({ process: { pid } }: Program): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  return Number(/^VmHWM:\s+(\d+)/m.exec(status)?.[1]) / 1024;
}

interface Shed {
  readonly status: number;
  readonly retryAfter: string | undefined;
}

/** Hands in one task. */
function create(hub: HubProgram, agent: Agent, body: string): Promise<Shed> {
  return new Promise((resolve, reject) => {
    const outgoing = request(`${hub.baseUrl}/api/2.0/workbench/task/execute-batch-job/create`, {
      agent,
      method: 'POST',
      headers: { 'content-length': body.length },
    });
    outgoing.once('error', reject);
    outgoing.once('response', (response) => {
      response.resume().once('end', () => {
        resolve({ status: response.statusCode ?? 0, retryAfter: response.headers['retry-after'] });
      });
    });
    outgoing.end(body);
  });
}

it('a hub with 50 times its permitted load sheds the rest within its memory, and recovers at once', async () => {
  const SERVED = 20;
  const CONNECTIONS = 50 * SERVED;
  const REQUESTS_A_CONNECTION = 5;
  const hub = await startHub(folder.path, { limits: { requests: SERVED } });
  const agent = new Agent({ keepAlive: true, maxSockets: CONNECTIONS });
  const body = JSON.stringify({
    inputScripts: [{ content: base64('//'.padEnd(30_000)) }],
    classifiers: [{ type: 'VERSION', value: 'none' }],
  });
  const before = peakMib(hub);
  const answers: Shed[] = [];
  await Promise.all(
    Array.from({ length: CONNECTIONS }, async () => {
      for (let at = 0; at < REQUESTS_A_CONNECTION; at++) answers.push(await create(hub, agent, body));
    }),
  );
  const ofStatus = (status: number) => answers.filter((answer) => answer.status === status);
  const taken = ofStatus(201).length;
  const shed = ofStatus(503);
  expect(taken + shed.length).toBe(CONNECTIONS * REQUESTS_A_CONNECTION);
  expect(taken).toBeGreaterThan(SERVED);
  expect(shed.length).toBeGreaterThan(taken / 10);
  expect(new Set(shed.map(({ retryAfter }) => retryAfter))).toEqual(new Set(['1']));
  expect(peakMib(hub) - before).toBeLessThan(250);
  expect((await create(hub, agent, body)).status).toBe(201);
  const list = await restClient(hub.baseUrl).call('/api/2.0/workbench/task/list?size=1');
  expect(list.json()).toMatchObject({ totalElements: taken + 1 });
  agent.destroy();
});

it('a script that prints endlessly fills neither memory nor disks of agent and hub', async () => {
  const PRINTED_MIB = 300;
  const hub = await startHub(folder.path);
  const agent = startAgent(folder.path, hub, 'host', {
    instances: [{ id: 'sim', version: '1' }],
    limits: { taskLog: '1MiB' },
  });
  await hub.logged(({ msg }) => msg === 'agent joined');
  const client = restClient(hub.baseUrl);
  const id = await client.createBatchJob({
    inputScripts: [
      { content: base64(`#!/bin/sh\nyes 'a line of many' | head -c ${PRINTED_MIB}M; echo the end`) },
    ],
  });
  expect(await client.batchJobResult(id)).toMatchObject({ status: 'FINISHED', batchExecutionStatus: 'OK' });
  const log = await client.log(id);
  expect(log.length).toBeLessThan(1.2 * MIB);
  expect(log).toMatch(
    /^a line of many\n[\s\S]*\[agent\] \d+ bytes are left out here: limits\.taskLog\n[\s\S]*the end\n$/,
  );
  expect(peakMib(agent)).toBeLessThan(400);
  expect(peakMib(hub)).toBeLessThan(400);
  const bytesIn = (path: string): number =>
    readdirSync(path, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .reduce((sum, { parentPath, name }) => {
        // Files in the spool vanish once the hub has them.
        return sum + (statSync(join(parentPath, name), { throwIfNoEntry: false })?.size ?? 0);
      }, 0);
  expect(bytesIn(folder.path)).toBeLessThan(50 * MIB);
}, 400_000);
