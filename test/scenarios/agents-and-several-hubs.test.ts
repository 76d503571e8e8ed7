/** Agents that know several hubs: they go on with another when one is killed or stops, and take along what they run. */
import { readFileSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { eventually } from '../support/eventually.js';
import { type HubDoor, openDoor } from '../support/hubs/hub-door.js';
import { startHub as startHubHere } from '../support/hubs/running-hub.js';
import { base64, outputsOf, restClient } from '../support/interface/rest-client.js';
import {
  endPrograms,
  type HubProgram,
  type LogLine,
  startAgent,
  startHub,
} from '../support/programs/programs.js';
import { keepSecret } from '../support/secrets.js';
import { type TemporaryFolder, temporaryFolder } from '../support/temporary-folder.js';

vi.setConfig({ testTimeout: 120_000 });

/** The join token of both hubs, as hubs of one cluster have the same. */
const TOKEN = 'token-of-both-hubs';
const JOBS = 100;
/** Interval of the requests to move. */
const MOVE_EVERY_MS = 250;
/** Silence after which an agent notices by itself that its hub is gone. */
const SILENCE_LIMIT_MS = 30_000;
/** A line in the ledger for each run, and an output file. */
const SCRIPT = `
  set -eu
  printf '%s\\n' "$WORKBENCH_TASK_ID" >> "$ledger"
  sleep 0.1
  printf '%s' "$number" > out.txt`;

let folder: TemporaryFolder;
let doors: HubDoor[];
beforeEach(async () => {
  folder = await temporaryFolder();
  doors = [];
  keepSecret(TOKEN);
});
afterEach(async () => {
  await endPrograms();
  await Promise.all(doors.map((door) => door.close()));
  await folder.remove();
});

async function startHubs(): Promise<[HubProgram, HubProgram]> {
  const start = async (name: string) => {
    await mkdir(join(folder.path, name));
    return startHub(join(folder.path, name), { agents: { token: TOKEN } });
  };
  return Promise.all([start('one'), start('two')]);
}

async function openDoorOf(hub: HubProgram): Promise<HubDoor> {
  const door = await openDoor(hub.baseUrl);
  doors.push(door);
  return door;
}

function startAgentOf(
  hub: Pick<HubProgram, 'baseUrl' | 'tokenFile'>,
  addresses: readonly string[],
  token = TOKEN,
) {
  const command = ['workbench-runner', '--interpreter', 'sh'];
  const instances = [{ id: 'sim', version: '9.1.0', count: 3, command }];
  return startAgent(folder.path, hub, 'host', { hub: addresses, token, tokenFile: null, instances });
}

const addressOf = (hub: HubProgram) => hub.baseUrl.replace('http', 'ws');
const isJoin = ({ msg }: LogLine) => msg === 'joined the hub';
const ledger = () => join(folder.path, 'ledger');

function createJob(hub: HubProgram, number: number): Promise<string> {
  return restClient(hub.baseUrl).createBatchJob({
    name: `job ${number}`,
    classifiers: [],
    inputScripts: [{ content: base64(SCRIPT) }],
    variablesToInject: [
      { key: 'number', value: String(number) },
      { key: 'ledger', value: ledger() },
    ],
  });
}

describe('an agent with the addresses of two hubs', () => {
  it.each(['is killed', 'stops'] as const)('joins the other when its hub %s', async (how) => {
    const hubs = await startHubs();
    const agent = startAgentOf(hubs[0], hubs.map(addressOf));
    const { hub: first } = await agent.logged(isJoin);
    const [away, left] = first === addressOf(hubs[0]) ? hubs : [hubs[1], hubs[0]];
    const beganMs = performance.now();
    await (how === 'stops' ? away.stop() : away.kill());
    const second = await agent.logged((line) => isJoin(line) && line['hub'] !== first);
    expect(second['hub']).toBe(addressOf(left));
    expect(performance.now() - beganMs).toBeLessThan(SILENCE_LIMIT_MS);
    const result = await restClient(left.baseUrl).batchJobResult(await createJob(left, 1));
    expect(outputsOf(result)).toEqual({ 'out.txt': '1' });
  });

  it('moves when its hub asks it to, and says so in one line', async () => {
    const [one, two] = await startHubs();
    const door = await openDoorOf(one);
    const agent = startAgentOf(one, [door.address]);
    await agent.logged(isJoin);
    door.askToMove(addressOf(two));
    const moved = await agent.logged((line) => isJoin(line) && line['hub'] === addressOf(two));
    expect(moved).toMatchObject({ left: door.address, reason: 'the test wants it' });
    const result = await restClient(two.baseUrl).batchJobResult(await createJob(two, 1));
    expect(outputsOf(result)).toEqual({ 'out.txt': '1' });
    expect(door.connected).toBe(0);
  });
});

describe('an agent with the address of one hub', () => {
  it('moves to another that its hub has told it of, when that stops', async () => {
    const left = await startHubHere();
    onTestFinished(() => left.stop());
    const leftAddress = left.address.replace('http', 'ws');
    const away = await startHubHere({ otherHubs: () => [leftAddress] });
    const agent = startAgentOf(
      { baseUrl: away.address, tokenFile: '' },
      [away.address.replace('http', 'ws')],
      away.token,
    );
    await agent.logged(isJoin);
    await away.stop();
    const moved = await agent.logged((line) => isJoin(line) && line['hub'] === leftAddress);
    expect(moved['reason']).toBe('the hub stops');
    expect(away.log.find(({ msg }) => msg === 'agent is unreachable')).toMatchObject({
      reason: 'it joins another hub',
    });
    expect(agent.lines.filter(({ msg }) => msg === 'the connection to the hub has ended')).toEqual([]);
  });
});

describe('an agent that moves again and again between two doors of a hub', () => {
  it('runs each task once, and loses none', async () => {
    const [hub] = await startHubs();
    const [left, right] = [await openDoorOf(hub), await openDoorOf(hub)];
    const agent = startAgentOf(hub, [left.address]);
    await agent.logged(isJoin);
    const ids = await Promise.all(Array.from({ length: JOBS }, (_, number) => createJob(hub, number)));
    let isDone = false;
    const moving = (async () => {
      while (!isDone) {
        const [from, to] = left.connected > 0 ? [left, right] : [right, left];
        from.askToMove(to.address);
        await new Promise((resolve) => setTimeout(resolve, MOVE_EVERY_MS));
        await eventually(() => isDone || to.connected === 1);
      }
    })();
    const client = restClient(hub.baseUrl);
    const results = await Promise.all(ids.map((id) => client.batchJobResult(id)));
    isDone = true;
    await moving;
    expect(results.map(outputsOf)).toEqual(ids.map((_, number) => ({ 'out.txt': String(number) })));
    const runs = readFileSync(ledger(), 'utf8').trim().split('\n');
    expect(runs.sort()).toEqual([...ids].sort());
    expect(hub.lines.filter(({ msg }) => msg === 'task requeued')).toEqual([]);
    expect(agent.lines.filter(isJoin).length).toBeGreaterThan(5);
  });
});
