/** Files between hub and agents when connections are cut, and when hub or agent are killed in the middle. */
import { createHash } from 'node:crypto';
import { readdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { eventually } from '../support/eventually.js';
import { base64, restClient } from '../support/interface/rest-client.js';
import {
  endPrograms,
  type HubProgram,
  type LogLine,
  type Program,
  startAgent,
  startHub,
} from '../support/programs/programs.js';
import { Valve } from '../support/proxies/gate.js';
import { type TemporaryFolder, temporaryFolder } from '../support/temporary-folder.js';

const SIZE_BYTES = 8 * 1024 ** 2;
/** Timeout of a test and of each wait in it. */
const LIMIT_MS = 180_000;
const FETCHED = 'downloaded a blob';
const SENT = 'uploaded a blob';

/** Every four bytes are another number. */
const model = Buffer.alloc(SIZE_BYTES);
for (let at = 0; at < SIZE_BYTES; at += 4) model.writeUInt32LE(at, at);
/** The output of the job, which the hub does not have, so that it is uploaded. */
const longerModel = Buffer.concat([model, Buffer.from('x')]);

const LENGTHEN = `
const { appendFileSync, copyFileSync } = require('node:fs');
copyFileSync(process.env.WORKBENCH_MODEL, 'longer.bin');
appendFileSync('longer.bin', 'x');
`;

let folder: TemporaryFolder;
let hub: HubProgram;
let valve: Valve;

beforeEach(async () => {
  folder = await temporaryFolder();
  hub = await startHub(folder.path);
  valve = await Valve.open(hub.baseUrl);
});

afterEach(async () => {
  await endPrograms();
  await valve.close();
  await folder.remove();
});

function startHost(): Program {
  return startAgent(folder.path, hub, 'host', {
    hub: valve.address,
    instances: [{ id: 'sim', version: '1' }],
    log: { level: 'debug' },
  });
}

async function startHubAgain(): Promise<void> {
  hub = await startHub(folder.path, {}, Number(new URL(hub.baseUrl).port));
}

function handIn(): Promise<string> {
  return restClient(hub.baseUrl).createBatchJob({
    inputScripts: [{ content: base64(LENGTHEN) }],
    inputModel: { type: 'BIN', content: model.toString('base64') },
  });
}

/** Waits for the end of the task: its output is right, and nothing half-written is left on either side. */
async function expectRight(id: string): Promise<void> {
  const { status, outputFiles = [] } = await restClient(hub.baseUrl).batchJobResult(id);
  expect([status, outputFiles.map(({ filename }) => filename)]).toEqual(['FINISHED', ['longer.bin']]);
  const output = Buffer.from(outputFiles[0]?.content ?? '', 'base64');
  expect(digestOf(output)).toBe(digestOf(longerModel));
  expect(readdirSync(ofHub())).toEqual([]);
  const cached = readdirSync(ofAgent());
  expect(cached.filter((name) => !/^[0-9a-f]{64}$/.test(name))).toEqual([]);
}

function digestOf(bytes: Buffer): string {
  return createHash('sha256').update(bytes).digest('hex');
}

/** Folders in which agent and hub keep partial blobs. */
const ofAgent = () => join(folder.path, 'host', 'cache');
const ofHub = () => join(folder.path, 'hub', 'files', 'incoming');

/** Waits until a part of the large file is on the disk: bytes that passed the valve may still be in the memory of the system,
 *  and are lost with the connection. */
async function partArrived(at: 'agent' | 'hub'): Promise<void> {
  const partial =
    at === 'agent'
      ? join(ofAgent(), `${digestOf(model)}.partial`)
      : join(ofHub(), `${digestOf(longerModel)}.partial`);
  await eventually(() => (statSync(partial, { throwIfNoEntry: false })?.size ?? 0) > 0, LIMIT_MS);
}

/** The line about the large file. */
function transfer(agent: Program, what: string): Promise<LogLine> {
  return agent.logged(({ msg, sizeBytes }) => msg === what && Number(sizeBytes) >= SIZE_BYTES);
}

describe('a transfer whose connection is cut', { timeout: LIMIT_MS }, () => {
  it.each([
    ['agent', 10],
    ['agent', 50],
    ['agent', 99],
    ['hub', 10],
    ['hub', 50],
    ['hub', 99],
  ] as const)('on the way to the %s at %d percent is resumed', async (to, percent) => {
    const held = valve.watch({ to, afterBytes: (SIZE_BYTES / 100) * percent });
    const agent = startHost();
    const id = await handIn();
    await held;
    await partArrived(to);
    valve.cut();
    await expectRight(id);
    const { fromByte } = await transfer(agent, to === 'agent' ? FETCHED : SENT);
    expect(fromByte).toBeGreaterThan(0);
  });
});

describe('a transfer is resumed', { timeout: LIMIT_MS }, () => {
  it('by an agent that was killed during a download', async () => {
    const held = valve.watch({ to: 'agent', afterBytes: SIZE_BYTES / 2 });
    const first = startHost();
    const id = await handIn();
    await held;
    await partArrived('agent');
    await first.kill();
    // A remainder of a crash.
    writeFileSync(join(ofAgent(), 'left-by-a-crash.removed'), 'x');
    const agent = startHost();
    await expectRight(id);
    expect((await transfer(agent, FETCHED))['fromByte']).toBeGreaterThan(0);
  });

  it('after the hub was killed during a download', async () => {
    const held = valve.watch({ to: 'agent', afterBytes: SIZE_BYTES / 2 });
    const agent = startHost();
    const id = await handIn();
    await held;
    await partArrived('agent');
    await hub.kill();
    await startHubAgain();
    await expectRight(id);
    expect((await transfer(agent, FETCHED))['fromByte']).toBeGreaterThan(0);
  });

  it('by a hub that was killed during an upload', async () => {
    const held = valve.watch({ to: 'hub', afterBytes: SIZE_BYTES / 2 });
    const agent = startHost();
    const id = await handIn();
    await held;
    await partArrived('hub');
    await hub.kill();
    writeFileSync(join(ofHub(), 'left-by-a-crash'), 'x');
    await startHubAgain();
    await expectRight(id);
    expect((await transfer(agent, SENT))['fromByte']).toBeGreaterThan(0);
  });

  it('from the spool after the agent was killed during an upload', async () => {
    const held = valve.watch({ to: 'hub', afterBytes: SIZE_BYTES / 2 });
    const first = startHost();
    const id = await handIn();
    await held;
    await partArrived('hub');
    await first.kill();
    const agent = startHost();
    await expectRight(id);
    expect((await transfer(agent, SENT))['fromByte']).toBeGreaterThan(0);
  });
});
