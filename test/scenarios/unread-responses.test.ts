/** Clients that send many requests and read nothing: the hub stays within its memory, and serves all others meanwhile. */
import { readFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { eventually } from '../support/eventually.js';
import { AnswerReader } from '../support/interface/answer-reader.js';
import { base64, restClient } from '../support/interface/rest-client.js';
import { endPrograms, type HubProgram, startAgent, startHub } from '../support/programs/programs.js';
import { type TemporaryFolder, temporaryFolder } from '../support/temporary-folder.js';

const RESULT_BYTES = 500_000;
const PIPELINED = 2500;
/** More than Node reads at a time. */
const READ = 600;

let folder: TemporaryFolder;
const sockets: Socket[] = [];
beforeEach(async () => {
  folder = await temporaryFolder();
});
afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy();
  await endPrograms();
  await folder.remove();
});

function mibOf({ process: { pid } }: HubProgram, field: 'VmRSS' | 'VmHWM'): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  return Number(new RegExp(`^${field}:\\s+(\\d+)`, 'm').exec(status)?.[1]) / 1024;
}

/** A task that has ended with an output file of {@link RESULT_BYTES}. */
async function largeResult(hub: HubProgram): Promise<string> {
  const client = restClient(hub.baseUrl);
  const id = await client.createBatchJob({
    inputScripts: [{ content: base64(`#!/bin/sh\nhead -c ${RESULT_BYTES} /dev/urandom > out.bin`) }],
  });
  expect(await client.batchJobResult(id)).toMatchObject({ status: 'FINISHED' });
  return `/api/2.0/workbench/task/execute-batch-job/${id}/result`;
}

/** Opens a connection on which nothing is read until it is resumed. */
function unread(hub: HubProgram): Promise<Socket> {
  const { hostname, port } = new URL(hub.baseUrl);
  return new Promise((resolve, reject) => {
    const socket = connect(Number(port), hostname, () => resolve(socket));
    socket.pause();
    socket.once('error', reject);
    sockets.push(socket);
  });
}

/** Sends this many requests for a path, numbered by their X-Request-Id from 0 on. */
function ask(socket: Socket, path: string, count: number): void {
  const requests = Array.from(
    { length: count },
    (_, at) => `GET ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Request-Id: ${at}\r\n\r\n`,
  );
  socket.write(requests.join(''));
}

/** Longest time of a `/livez` request of another client meanwhile. */
async function slowestAnswerMs(hub: HubProgram, durationMs: number): Promise<number> {
  let slowestMs = 0;
  const until = performance.now() + durationMs;
  while (performance.now() < until) {
    const began = performance.now();
    expect((await fetch(`${hub.baseUrl}/livez`)).status).toBe(200);
    slowestMs = Math.max(slowestMs, performance.now() - began);
  }
  return slowestMs;
}

async function hubWithResult(
  config: Record<string, unknown> = {},
): Promise<{ hub: HubProgram; path: string }> {
  const hub = await startHub(folder.path, config);
  startAgent(folder.path, hub, 'host', { instances: [{ id: 'sim', version: '1', count: 1 }] });
  return { hub, path: await largeResult(hub) };
}

it('thousands of requests on an unread connection use the memory of a few, and are answered in order once it is read', async () => {
  const { hub, path } = await hubWithResult();
  const expected = await (await fetch(`${hub.baseUrl}${path}`)).text();
  const beforeMib = mibOf(hub, 'VmRSS');

  const flood = [await unread(hub), await unread(hub), await unread(hub)];
  ask(flood[0] as Socket, path, PIPELINED);
  const aloneMs = await slowestAnswerMs(hub, 1500);
  for (const socket of flood) ask(socket, path, PIPELINED);
  const floodedMs = await slowestAnswerMs(hub, 2500);
  const grownMib = mibOf(hub, 'VmHWM') - beforeMib;
  expect(grownMib).toBeLessThan(150);
  expect(Math.max(aloneMs, floodedMs)).toBeLessThan(1000);
  expect(hub.lines.filter(({ msg }) => /agent .*(left|cut off)/.test(msg ?? ''))).toEqual([]);

  const honest = await unread(hub);
  ask(honest, path, READ);
  const requestIds: number[] = [];
  let wrong = 0;
  const reader = new AnswerReader(({ status, headers, text }) => {
    requestIds.push(Number(headers['x-request-id']));
    if (status !== 200 || text !== expected) wrong++;
  });
  honest.on('data', (piece) => reader.push(piece));
  honest.resume();
  await eventually(() => requestIds.length === READ);
  expect(requestIds).toEqual(Array.from({ length: READ }, (_, at) => at));
  expect(wrong).toBe(0);
});

it('unread responses use limits.answersInMemory at most: then large ones are refused, others served, and clients that do not read disconnected', async () => {
  const { hub, path } = await hubWithResult({ limits: { answersInMemory: '8MiB' } });
  const beforeMib = mibOf(hub, 'VmRSS');
  const flood = await Promise.all(Array.from({ length: 40 }, () => unread(hub)));
  // More than the sockets hold, so that the hub keeps the last response of each.
  for (const socket of flood) ask(socket, path, 30);

  const refused = await eventually(async () => {
    const answer = await fetch(`${hub.baseUrl}${path}`);
    const { message } = (await answer.json()) as { message?: string };
    return answer.status === 503 && { message, retryAfter: answer.headers.get('retry-after') };
  });
  expect(refused).toEqual({
    message: expect.stringMatching(/\(limits\.answersInMemory\); try again later$/),
    retryAfter: '1',
  });
  expect(await slowestAnswerMs(hub, 500)).toBeLessThan(1000);
  const client = restClient(hub.baseUrl);
  const id = await client.createSimulateWork({ duration: 0 });
  await eventually(async () => {
    const { json } = await client.call(`/api/2.0/workbench/task/${id}`);
    return (json() as { status: string }).status === 'FINISHED';
  });
  expect(mibOf(hub, 'VmHWM') - beforeMib).toBeLessThan(150);

  await eventually(async () => (await fetch(`${hub.baseUrl}${path}`)).status === 200);
});
