/** An agent with a launcher is ordered to update, and proves a version that is on trial. The launcher is played. */
import { createHash, generateKeyPairSync, type KeyObject, sign } from 'node:crypto';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { HubMessage, SignedText, UpdateOrder } from '@workbench-hub/shared/agent-protocol/messages';
import { versionName } from '@workbench-hub/shared/domain/agent-update';
import type { Installation, InstallationKind } from '@workbench-hub/shared/domain/installation';
import { pinKeys } from '@workbench-hub/shared/hub-link/pinned-keys';
import { beforeEach, describe, expect, test } from 'vitest';
import type { Launch, Launcher } from './core/ports/launcher.js';
import { installedOnly, trialBegun, trialFailed } from './core/version-states.js';
import { programOf, versionsFolder, writeVersionState } from './disk/version-folders.js';
import {
  agentForEachTest,
  batchJob,
  directory,
  hub,
  logLines,
  newRef,
  SIM,
  startAgent,
} from './fixtures/agent-for-each-test.js';

const FILE = Buffer.from('the program of the next version\n'.repeat(10_000));
const SYSTEM = `${process.platform}-${process.arch}`;

/** Names of the versions that the launcher was asked to try. */
let tried: string[];
/** Whether it was asked to try the latest one again. */
let triedAgain: boolean;
let proofs: number;
let restarts: number;
/** Answer of the launcher. */
let fault: string | null;
let key: KeyObject;
let data: string;

agentForEachTest();
beforeEach(async () => {
  [tried, proofs, restarts, fault] = [[], 0, 0, null];
  triedAgain = false;
  data = join(directory, 'data');
  mkdirSync(data);
  writeFileSync(join(directory, 'installed'), 'the installed program');
  const pair = generateKeyPairSync('ed25519');
  key = pair.privateKey;
  await pinKeys(data, [`${pair.publicKey.export({ format: 'jwk' }).x}`]);
});

describe('an order', () => {
  test('is carried out once the agent is empty: the file is fetched at once, and tried then', async () => {
    await startLaunched();
    const ref = newRef();
    hub.assign(ref, batchJob(waiting()));
    const name = store();
    expect(await ask(order())).toMatchObject({ error: null, update: { phase: 'DOWNLOADING', target: name } });
    await phaseBecomes('WAITING');
    expect(readFileSync(programOf(versionsFolder(data), name))).toEqual(FILE);
    expect(tried).toEqual([]);
    writeFileSync(join(directory, 'go'), '');
    expect(await hub.ended(ref)).toMatchObject({ outcome: 'OK' });
    await expect.poll(() => restarts).toBe(1);
    expect(tried).toEqual([name]);
  });

  test('is continued where a download has ended', async () => {
    await startLaunched();
    const name = store();
    mkdirSync(versionsFolder(data));
    writeFileSync(join(versionsFolder(data), `${digestOf(FILE)}.partial`), FILE.subarray(0, 1000));
    await ask(order());
    await expect.poll(() => restarts).toBe(1);
    expect(hub.movedBytes.get(digestOf(FILE))).toBe(FILE.length - 1000);
    expect(readFileSync(programOf(versionsFolder(data), name))).toEqual(FILE);
  });

  test('survives a damaged download, which is fetched again', async () => {
    await startLaunched();
    const digest = digestOf(FILE);
    hub.contents.set(digest, Buffer.from(FILE).fill('x', 500, 600));
    await ask(order());
    await expect.poll(() => logLines.join('')).toContain('the download of a version broke off');
    hub.contents.set(digest, FILE);
    await expect.poll(() => restarts, { timeout: 10_000 }).toBe(1);
  });

  test('leaves the agent as it is when its launcher cannot note the trial', async () => {
    fault = 'the state of the versions cannot be written: ENOSPC';
    await startLaunched();
    store();
    await ask(order());
    await expect.poll(async () => (await ask({ kind: 'updateState' })).update?.problem).toBe(fault);
    expect(restarts).toBe(0);
    const ref = newRef();
    hub.assign(ref, { type: 'SIMULATE_WORK', durationS: 0 });
    expect(await hub.ended(ref)).toMatchObject({ outcome: 'OK' });
    fault = null;
    await ask(order());
    await expect.poll(() => restarts).toBe(1);
  });

  test('tells of a version that its host could not try, and passes an order to try it again on', async () => {
    await startLaunched({ untried: { name: 'new', reason: 'the disk of its host is full' } });
    const told = { phase: 'IDLE', failed: null };
    const problem = 'version new could not be tried: the disk of its host is full';
    expect((await ask({ kind: 'updateState' })).update).toMatchObject({ ...told, problem });
    store();
    await ask({ ...order(), again: true });
    await expect.poll(() => restarts).toBe(1);
    expect(triedAgain).toBe(true);
  });

  test('tells why it cannot be carried out when the hub does not have the file', async () => {
    await startLaunched();
    await ask(order());
    await expect
      .poll(async () => (await ask({ kind: 'updateState' })).update?.problem)
      .toBe('the hub answered GET with 404');
  });

  test('is not carried out after its time, and what was fetched serves the next one', async () => {
    await startLaunched();
    const ref = newRef();
    hub.assign(ref, batchJob(waiting()));
    const name = store();
    await ask({ ...order(), withinMs: 60_000 });
    await phaseBecomes('WAITING');
    // Takes the place of the time before.
    await ask({ ...order(), withinMs: 1 });
    await phaseBecomes('IDLE');
    writeFileSync(join(directory, 'go'), '');
    expect(await hub.ended(ref)).toMatchObject({ outcome: 'OK' });
    await ask({ ...order(), withinMs: 60_000 });
    await expect.poll(() => tried).toEqual([name]);
    expect(hub.movedBytes.get(digestOf(FILE))).toBe(FILE.length);
  });

  test('changes nothing when its version is that of the installed file', async () => {
    const installed = Buffer.from('the installed program');
    await startLaunched();
    const { error, update } = await ask(order({ version: '1.0.0', digest: digestOf(installed) }));
    expect(error).toBeNull();
    expect(update).toMatchObject({ phase: 'IDLE', running: versionName('1.0.0', digestOf(installed)) });
  });

  test('changes nothing when its version runs', async () => {
    const name = versionName('0.2.0', digestOf(FILE));
    await startLaunched({ version: name });
    expect(await ask(order())).toMatchObject({ error: null, update: { phase: 'IDLE', running: name } });
    expect(hub.requests).toEqual([]);
  });

  test('is refused unless it is signed by a pinned key, and for this agent, system and protocol', async () => {
    await startLaunched();
    const stranger = generateKeyPairSync('ed25519').privateKey;
    const changed = { ...order().order, payload: order({ version: '0.3.0' }).order.payload };
    for (const [request, words] of [
      [{ ...order(), order: signed({}, stranger) }, /not signed with a key of the hub/],
      [{ ...order(), order: changed }, /not signed with a key of the hub/],
      [order({ agentId: 'host-2' }), /the order is for agent host-2/],
      [order({ system: 'win-x64' }), /the order is for win-x64, and this agent runs on/],
      [
        order({ protocol: 3 }),
        /speaks version 3 of the agent protocol, and this agent 1: update over a version/,
      ],
    ] as const)
      expect((await ask(request)).error).toMatch(words);
    expect((await ask(order({ protocol: 2 }))).error).toBeNull();
  });

  test('is refused for a version that has failed here, unless it is to be tried again', async () => {
    const name = store();
    const begun = trialBegun(installedOnly('1'), name, 'http://127.0.0.1:1/livez');
    const why = { reason: 'it ended with exit code 1', log: 'its last words' };
    await writeVersionState(versionsFolder(data), trialFailed(begun, why, Date.now()));
    await startLaunched();
    const { error } = await ask(order());
    expect(error).toBe(`version ${name} has failed on this host: it ended with exit code 1`);
    expect((await ask({ kind: 'updateState' })).update?.failed).toMatchObject({ ...why, name });
    expect((await ask({ ...order(), again: true })).error).toBeNull();
    await expect.poll(() => restarts).toBe(1);
  });
});

test('an agent on trial takes tasks once it has run the probe job and the hub is content', async () => {
  await startLaunched({ version: '0.2.0-1234567890abcdef', isTrial: true });
  const hello = await hub.receives('hello');
  expect(hello).toMatchObject({ trial: true, instances: [{ id: SIM, status: 'DOWN' }] });
  const probe = await ask({ kind: 'probe', nonce: 'n-1' });
  expect(probe).toMatchObject({ error: null, text: `${digestOf(Buffer.from('n-1'))}\n` });
  expect(await ask({ kind: 'updateState' })).toMatchObject({ update: { phase: 'TRIAL' } });
  fault = 'the state of the versions cannot be written: ENOSPC';
  expect((await ask({ kind: 'proven' })).error).toBe(fault);
  fault = null;
  expect(await ask({ kind: 'proven' })).toMatchObject({ error: null, update: { phase: 'IDLE' } });
  expect(proofs).toBe(2);
  await hub.instanceBecomes(SIM, 'UP');
  const seen = hub.received.length;
  hub.disconnect();
  expect(await hub.receives('hello', () => true, seen)).not.toHaveProperty('trial');
});

const installed = (kind: InstallationKind | null) => ({ os: 'linux', arch: 'x64', kind }) as const;

test.each<[{ launcher?: Launcher; updates?: boolean; installation?: Installation }, string]>([
  [{}, 'this agent runs from a clone of the sources: update and build that'],
  [{ installation: installed('NPM') }, 'this agent was installed by npm: update it there'],
  [{ installation: installed('DEBIAN') }, 'this agent was installed as a Debian package: update it by apt'],
  [{ installation: installed('CONTAINER') }, 'this agent runs in a container: start one of a newer image'],
  [
    { installation: installed(null) },
    'this agent was not installed as one file: update it in the way it was installed',
  ],
  [
    { launcher: launcher(), updates: false },
    'the configuration of this agent forbids updates by the hub ("updates")',
  ],
])('an agent that hubs never update says why: %#', async ({ updates, ...overrides }, unable) => {
  await startAgent({
    overrides,
    ...(updates === undefined ? {} : { updates }),
  });
  await hub.receives('hello');
  expect(await ask({ kind: 'updateState' })).toMatchObject({
    error: null,
    update: { unable, phase: 'IDLE' },
  });
  expect((await ask(order())).error).toBe(unable);
});

test('an agent without a key of the hub is not updated', async () => {
  await pinKeys(data, []);
  await startLaunched();
  expect((await ask(order())).error).toBe(
    'this agent knows no key of the hub: enroll it at a hub that updates agents',
  );
});

async function startLaunched(launch: Partial<Launch> = {}): Promise<void> {
  await startAgent({ overrides: { launcher: launcher(launch), restart: () => restarts++ } });
  await hub.receives('hello');
  if (!launch.isTrial) await hub.instanceBecomes(SIM, 'UP');
}

function launcher(launch: Partial<Launch> = {}): Launcher {
  return {
    get launch() {
      return { version: null, isTrial: false, installed: join(directory, 'installed'), ...launch };
    },
    tryVersion: async (name, _, again) => {
      if (fault === null) tried.push(name);
      triedAgain = again;
      return fault;
    },
    proven: async () => {
      proofs++;
      return fault;
    },
  };
}

/** Stores the file at the hub; returns the name of its version. */
function store(): string {
  hub.store(FILE);
  return versionName('0.2.0', digestOf(FILE));
}

type Request = (HubMessage & { type: 'request' })['request'];

function order(changes: Partial<UpdateOrder> = {}) {
  return { kind: 'update' as const, order: signed(changes), again: false };
}

function signed(changes: Partial<UpdateOrder>, by = key): SignedText {
  const file = { digest: digestOf(FILE), sizeBytes: FILE.length };
  const text = { agentId: 'host-1', version: '0.2.0', system: SYSTEM, protocol: 1, ...file, ...changes };
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
  const [header, payload] = [part({ alg: 'EdDSA' }), part(text)];
  const signature = sign(null, Buffer.from(`${header}.${payload}`), by).toString('base64url');
  return { protected: header, payload, signature };
}

let requests = 0;

async function ask(request: Request) {
  const requestId = `${++requests}`;
  hub.send({ type: 'request', requestId, request });
  return hub.receives('reply', (reply) => reply.requestId === requestId);
}

async function phaseBecomes(phase: string): Promise<void> {
  await expect.poll(async () => (await ask({ kind: 'updateState' })).update?.phase).toBe(phase);
}

/** A script that waits for the file `go` in the directory of the test. */
function waiting(): string {
  return `while [ ! -e ${join(directory, 'go')} ]; do sleep 0.05; done`;
}

function digestOf(bytes: Buffer): string {
  return createHash('sha256').update(bytes).digest('hex');
}
