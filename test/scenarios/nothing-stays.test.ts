/** Entries that hub and agent keep after ten thousand requests of every kind and many tasks: none without a bound. */
import { readFileSync } from 'node:fs';
import { setTimeout } from 'node:timers/promises';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { eventually } from '../support/eventually.js';
import { passwordOf, quickPasswords } from '../support/hubs/running-hub.js';
import { KindsOfRequests } from '../support/interface/kinds-of-requests.js';
import { base64, restClient } from '../support/interface/rest-client.js';
import { type Growth, growthOf, type HeapEntries, heapEntries } from '../support/programs/heap-entries.js';
import { INSPECTED, type Inspector, inspectorAddress, openInspector } from '../support/programs/inspector.js';
import {
  endPrograms,
  type HubProgram,
  type Program,
  startAgent,
  startCommand,
  startHub,
} from '../support/programs/programs.js';
import { type TemporaryFolder, temporaryFolder } from '../support/temporary-folder.js';

const REQUESTS = 10_000;
const WARM_UP_ROUNDS = 2;
/** Rounds of each half. */
const ROUNDS = 8;
/** Rounds of waiting tasks after which the lists remember as many filters as they do at most. */
const FILTERED_ROUNDS = 4;
/** Entries by which an owner may differ without having kept anything of each round. */
const SLACK = ROUNDS - 1;
/** The same for requests, of which each round has hundreds. */
const SLACK_OF_REQUESTS = 10 * ROUNDS;
/** Time in which all of a calm program has ended, such as connections that are kept for seconds. */
const CALM_MS = 30_000;
/** Pause between two looks, each of which takes seconds of processor time. */
const PAUSE_MS = 5000;
/** Longest time of a test on a busy machine; on a quiet one it waits for five sweeps of the hub, one a minute. */
const LIMIT_MS = 1_200_000;

/** Owners that keep entries of requests and tasks for a time, with their maximum number. */
const BOUNDED: Readonly<Record<string, { readonly most: number; readonly of: string }>> = {
  seen: { most: 1000, of: 'addresses of which the audit log counts refusals, for an hour' },
  'Attempts.#began': { most: 20_000, of: 'names and addresses of failed log-ins, for minutes' },
  'Attempts.#began[][]': { most: 200_000, of: 'times of failed log-ins, for minutes' },
  'RecentCounts.#counts': { most: 10_000, of: 'names and addresses with failed log-ins, for ten minutes' },
  'LoginLocations.#users[][]': {
    most: 60,
    of: 'twenty addresses from which each of three users has logged in',
  },
  'RunTimeBook.#runsByKey': { most: 1000, of: 'requirements whose run times are known' },
  'RunTimeBook.#runsByKey[][]': { most: 100_000, of: 'the latest hundred run times of each' },
  'ListedTasks.#changed': { most: 1024, of: 'changed tasks whose rows no list has asked for' },
  'PriorityQueue.#heap': { most: 200, of: 'durations of the timers of Node.js' },
  'Internals.def.values': {
    most: 1000,
    of: 'literals of schemas, which zod looks up when one is first used',
  },
  'FreeList.list': { most: 1000, of: 'parsers of requests, which Node.js uses again' },
  'what Node.js keeps': { most: 1000, of: 'literals of compiled code' },
  'Client.<symbol queue>': {
    most: 512,
    of: 'requests of a connection to the hub, which undici takes out in lots',
  },
  '_DiskCache.#entries': { most: 1000, of: 'input files, up to limits.fileCache' },
};

let folder: TemporaryFolder;
const inspectors = new Set<Inspector>();
beforeEach(async () => {
  folder = await temporaryFolder();
});
afterEach(async () => {
  // A program does not end before its inspector has left.
  for (const inspector of inspectors) inspector.close();
  await endPrograms();
  await folder.remove();
});

async function entriesOf({ printed }: Program): Promise<HeapEntries> {
  const inspector = await openInspector(await eventually(() => inspectorAddress(printed)));
  inspectors.add(inspector);
  try {
    return await heapEntries(inspector);
  } finally {
    inspector.close();
    inspectors.delete(inspector);
  }
}

/** Owners that keep more than before: none as soon as all has ended, or those that still do when all should have. */
async function grownIn(program: Program, before: HeapEntries, slack: number): Promise<Growth[]> {
  let grown: Growth[] = [];
  const hasGrown = ({ owner, after }: Growth) => {
    const bounded = BOUNDED[owner.slice(owner.indexOf(': ') + 2)];
    return bounded === undefined || after > bounded.most;
  };
  await eventually(async () => {
    grown = growthOf(before, await entriesOf(program), slack).filter(hasGrown);
    if (grown.length > 0) await setTimeout(PAUSE_MS);
    return grown.length === 0;
  }, CALM_MS).catch(() => undefined);
  return grown;
}

/** Owners that keep something of each half of the work, as `main: Keeper.#kept: 80 → 160`. Lazy initialization, and a cache that fills,
 *  grow in one half only. `half` does the work with names from this number on. */
async function grownInBothHalves(
  programs: readonly Program[],
  half: (from: number) => Promise<void>,
  slack = SLACK,
): Promise<string[]> {
  const grown = programs.map(() => [] as Growth[][]);
  for (const from of [1000, 2000]) {
    const before: HeapEntries[] = [];
    for (const program of programs) before.push(await entriesOf(program));
    await half(from);
    for (const [at, program] of programs.entries())
      grown[at]?.push(await grownIn(program, before[at] ?? new Map(), slack));
  }
  return grown.flatMap(([first = [], second = []]) => {
    const owners = new Set(first.map(({ owner }) => owner));
    const twice = second.filter(({ owner }) => owners.has(owner));
    return twice.map(({ owner, before, after }) => `${owner}: ${before} → ${after}`);
  });
}

async function hubWithUsers(): Promise<HubProgram> {
  const user = async (username: string, role: string) => ({
    username,
    passwordHash: await quickPasswords.hash(passwordOf(username)),
    roles: [role],
  });
  const config = {
    server: { port: 0, trustedProxies: ['loopback'] },
    security: { enabled: true, users: [await user('anna', 'ADMIN'), await user('vera', 'VIEWER')] },
    agents: { unreachableAfter: '30s', leaseTimeout: '30s', forgetAfter: '1s' },
  };
  return startHub(folder.path, config, 0, [], { env: INSPECTED });
}

/** Rounds of each kind; that whose agents a sweep forgets comes first, so that it has passed when the others have. */
async function everyKind(kinds: KindsOfRequests, from: number, rounds: number): Promise<void> {
  const each = async (run: (round: number) => Promise<void>, times = rounds) => {
    for (let at = 0; at < times; at++) await run(from + at);
  };
  await each((round) => kinds.agents(round));
  await each(() => kinds.walk(), Math.ceil(rounds / 5));
  await each((round) => kinds.leftAlone(round));
  await each((round) => kinds.waitingTasks(round), Math.max(rounds, FILTERED_ROUNDS));
  await each((round) => kinds.logIns(round));
  await each((round) => kinds.malformed(round));
  await each((round) => kinds.unknownPaths(round), rounds * 4);
  await each((round) => kinds.refusals(round));
  await kinds.clear();
  await kinds.agentsForgotten();
}

it(
  'a hub keeps nothing of ten thousand requests of every kind',
  async () => {
    const hub = await hubWithUsers();
    const token = readFileSync(hub.tokenFile, 'utf8').trim();
    const kinds = await KindsOfRequests.of({ address: hub.baseUrl, token });
    await everyKind(kinds, 0, WARM_UP_ROUNDS);
    const earlier = kinds.sent;
    const half = async (from: number) => {
      await everyKind(kinds, from, ROUNDS);
      // Caches of the latest rounds, such as why tasks wait, then hold as many rounds as before.
      await everyKind(kinds, from + 500, WARM_UP_ROUNDS);
    };
    expect(await grownInBothHalves([hub], half, SLACK_OF_REQUESTS)).toEqual([]);
    expect(kinds.sent - earlier).toBeGreaterThan(REQUESTS);
  },
  LIMIT_MS,
);

const SCRIPTS = [
  "console.log('a line'); require('node:fs').writeFileSync('out.txt', 'x');",
  "throw new Error('it fails');",
  "#!/bin/sh\necho 'by a shell'",
];

/** Jobs that end well and badly, with files of their own, and work that is canceled. */
async function everyJob(hub: HubProgram, from: number, rounds: number): Promise<void> {
  const client = restClient(hub.baseUrl);
  const jobs = async (round: number) => {
    const ids = await Promise.all(
      SCRIPTS.map((script) =>
        client.createBatchJob({
          inputScripts: [{ content: base64(script) }],
          additionalFiles: [{ filename: `${round}.txt`, content: base64(`round ${round}`) }],
          variablesToInject: [{ key: `round${round}`, value: `${round}` }],
        }),
      ),
    );
    const canceled = await client.createSimulateWork({ duration: 60 });
    for (const id of ids) await client.batchJobResult(id);
    await client.call(`/api/2.0/workbench/task/${canceled}/cancel?force=true`, { method: 'DELETE' });
    for (const type of ['stdout', 'stderr', 'console'])
      await client.call(`/api/2.0/workbench/node/instance/sim-1/log/${type}`);
    for (const id of [...ids, canceled]) {
      await eventually(async () => {
        const { status } = await client.call(`/api/2.0/workbench/task/${id}/delete`, { method: 'DELETE' });
        return status === 204 || status === 404;
      });
    }
  };
  for (let at = 0; at < rounds; at++) await jobs(from + at);
}

it(
  'hub and agent keep nothing of tasks that have been',
  async () => {
    const hub = await startHub(folder.path, {}, 0, [], { env: INSPECTED });
    // The programs of instances are no part of this.
    const instances = [{ id: 'sim', version: '1', count: 4, env: { NODE_OPTIONS: '' } }];
    const agent = startAgent(folder.path, hub, 'host', { instances }, { env: INSPECTED });
    await everyJob(hub, 0, 5);
    expect(await grownInBothHalves([hub, agent], (from) => everyJob(hub, from, ROUNDS))).toEqual([]);
  },
  LIMIT_MS,
);

it('what a program keeps is found, with the name of its owner', async () => {
  const leaking = `
    class Keeper { #kept = new Map(); ofClass = []; keep(at) { this.#kept.set('key ' + at, {}); this.ofClass.push(new Kept()); } }
    class Kept {}
    const keeper = new Keeper();
    const numbers = new Set();
    let at = 0;
    process.on('SIGUSR2', () => {
      for (let more = 0; more < 100; more++) { keeper.keep(at); numbers.add(at++); }
      console.log('kept');
    });
    setInterval(() => undefined, 60_000);
    console.log('ready');`;
  const program = startCommand([process.execPath, '-e', leaking], folder.path, INSPECTED);
  await eventually(() => program.printed.includes('ready'));
  const before = await entriesOf(program);
  expect(growthOf(before, await entriesOf(program), SLACK)).toEqual([]);
  program.process.kill('SIGUSR2');
  await eventually(() => program.printed.includes('kept'));
  expect(growthOf(before, await entriesOf(program), SLACK)).toEqual(
    expect.arrayContaining([
      { owner: 'main: Keeper.#kept', before: 0, after: 100 },
      { owner: 'main: Keeper.ofClass', before: 0, after: 100 },
      { owner: 'main: objects of Kept', before: 0, after: 100 },
      { owner: 'main: numbers', before: 0, after: 128 },
    ]),
  );
});
