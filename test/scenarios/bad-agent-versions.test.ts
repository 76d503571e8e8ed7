/** Versions of the agent, as real files, that run but do not prove themselves, and an update beside hubs that fail (upgrading.md). */
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { buildInfo } from '@workbench-hub/shared/runtime/build-info';
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest';
import { offerAgentFile } from '../support/agents/agent-files.js';
import {
  installAgent,
  OLD,
  orderUpdate,
  orderUpdateAgain,
  packageAgent,
  packagedAgent,
  SYSTEM,
  scriptJob,
  TELLS_ITS_PROGRAM,
  updateState,
  waitingScript,
} from '../support/agents/updated-agents.js';
import { eventually } from '../support/eventually.js';
import { type ClusterHub, ClusterPrograms } from '../support/hubs/cluster-programs.js';
import { outputsOf, restClient } from '../support/interface/rest-client.js';
import { endPrograms, startHub } from '../support/programs/programs.js';
import { hasPostgres, migratedDatabase } from '../support/stores/postgres.js';
import { hasSmallDisks, mountSmallDisk } from '../support/stores/small-disk.js';
import { type TemporaryFolder, temporaryFolder } from '../support/temporary-folder.js';

/** Faults of a version: a text in its file, and one of the same length that takes its place. */
const FAULTS = [
  ['never joins its hub', '/agent/connect', '/agent/c-n-e-t'],
  [
    "fails the hub's probe job",
    "createHash('sha256').update(process.env.nonce)",
    "createHash('sha512').update(process.env.nonce)",
  ],
] as const;

let packages: TemporaryFolder;
let site: TemporaryFolder;
let unmount: () => void = () => undefined;

const fileOf = (version: string) => packagedAgent(join(packages.path, version), version);

beforeAll(async () => {
  packages = await temporaryFolder();
  for (const version of [OLD, buildInfo.version]) await packageAgent(version, join(packages.path, version));
});
afterAll(() => packages.remove());
beforeEach(async () => {
  site = await temporaryFolder();
});
afterEach(async () => {
  await endPrograms();
  unmount();
  unmount = () => undefined;
  await site.remove();
});

it.each(FAULTS)('a version that %s is taken back, and tasks go on', async (_, right, wrong) => {
  const bad = join(site.path, 'bad');
  offerAgentFile(bad, withFault(readFileSync(fileOf(buildInfo.version)), right, wrong), SYSTEM);
  const hub = await startHub(site.path, { agents: { enrolledOnly: true, updates: { folder: bad } } });
  const { agent, dataDir, start } = await installAgent(site.path, fileOf(OLD), [
    { ...hub, folder: site.path },
  ]);
  start();
  await expect.poll(async () => (await updateState(hub)).status).toBe(200);
  expect((await orderUpdate(hub)).status).toBe(200);

  await expect.poll(() => trialIn(dataDir), { timeout: 60_000 }).toContain(`${buildInfo.version}-`);
  const id = await restClient(hub.baseUrl).createBatchJob(scriptJob(TELLS_ITS_PROGRAM));
  const result = await restClient(hub.baseUrl).batchJobResult(id);
  expect(result).toMatchObject({ batchExecutionStatus: 'OK' });
  expect(outputsOf(result)).toEqual({ 'v.txt': agent });
  expect((await updateState(hub)).body).toMatchObject({
    running: expect.stringContaining(OLD),
    failed: {
      version: expect.stringContaining(`${buildInfo.version}-`),
      reason: 'it did not join its hub and finish the probe job within 45 s',
    },
  });
});

it.skipIf(!hasSmallDisks())(
  'a version whose trial fills the disk of its host is not blamed, and is tried again when it is asked for',
  async () => {
    const filling = join(site.path, 'filling');
    const [tries, filler] = [join(site.path, 'tries'), join(site.path, 'host/data/filler')];
    // Leaves less than a hundredth of the disk, with which the version before can start.
    const fill = `head -c 1G /dev/zero > ${filler}\ntruncate --size=-900K ${filler}`;
    const script = `#!/bin/sh\necho begun >> ${tries}\n${fill}\nexit 1\n`;
    offerAgentFile(filling, script, SYSTEM);
    const hub = await startHub(site.path, { agents: { enrolledOnly: true, updates: { folder: filling } } });
    unmount = mountSmallDisk(join(site.path, 'host/data'), 100);
    const { agent, start } = await installAgent(site.path, fileOf(OLD), [{ ...hub, folder: site.path }]);
    start();
    await expect.poll(async () => (await updateState(hub)).status, { timeout: 60_000 }).toBe(200);
    const problem = () => updateState(hub).then(({ body }) => body.problem);
    const full = /could not be tried: the disk of its host is full: /;
    for (const times of [1, 2]) {
      expect((await orderUpdateAgain(hub)).status).toBe(200);
      await expect.poll(() => readFileSync(tries, 'utf8'), { timeout: 60_000 }).toBe('begun\n'.repeat(times));
      await expect.poll(problem, { timeout: 60_000 }).toMatch(full);
      rmSync(filler);
    }
    expect((await orderUpdate(hub)).status).toBe(200);
    await expect.poll(problem).toMatch(/it is tried again in \d+ min at the earliest$/);
    expect((await updateState(hub)).body).toMatchObject({
      phase: 'IDLE',
      running: expect.stringContaining(OLD),
    });
    expect((await updateState(hub)).body).not.toHaveProperty('failed');
    const client = restClient(hub.baseUrl);
    const id = await client.createBatchJob(scriptJob(TELLS_ITS_PROGRAM));
    expect(outputsOf(await client.batchJobResult(id))).toEqual({ 'v.txt': agent });
  },
);

it.runIf(hasPostgres)(
  'an update goes on at another hub when the one of the agent is killed during the trial',
  async () => {
    const database = await migratedDatabase();
    const cluster = new ClusterPrograms(site.path, database);
    try {
      const updates = { folder: join(packages.path, buildInfo.version) };
      const config = { agents: { token: 'token-of-the-cluster', updates } };
      const hubs = [await cluster.start('one', { config }), await cluster.start('two', { config })] as const;
      const { dataDir, start } = await installAgent(site.path, fileOf(OLD), hubs);
      start();
      const [own, other] = await joinedOf(hubs);
      const client = restClient(other.baseUrl);
      const id = await client.createBatchJob(scriptJob(waitingScript(site.path)));
      await expect.poll(() => existsSync(join(site.path, 'begun'))).toBe(true);

      // The order reaches the agent through the hub that it has joined.
      await expect.poll(async () => (await orderUpdate(other)).status).toBe(200);
      await expect.poll(async () => (await updateState(other)).body.phase).toBe('WAITING');
      writeFileSync(join(site.path, 'go'), '');
      expect(await client.batchJobResult(id)).toMatchObject({ batchExecutionStatus: 'OK' });
      await expect.poll(() => trialIn(dataDir)).toContain(`${buildInfo.version}-`);
      await own.kill();

      const state = () =>
        updateState(other).then(({ body }) => [body.running, body.phase, body.failed ?? null]);
      await expect
        .poll(state, { timeout: 120_000 })
        .toEqual([expect.stringContaining(`${buildInfo.version}-`), 'IDLE', null]);
      const next = await client.createBatchJob(scriptJob(TELLS_ITS_PROGRAM));
      expect(outputsOf(await client.batchJobResult(next))['v.txt']).toContain(`/${buildInfo.version}-`);
      expect((await cluster.tasks()).map(({ status, attempt }) => [status, attempt])).toEqual([
        ['FINISHED', 1],
        ['FINISHED', 1],
      ]);
    } finally {
      await cluster.end();
      await database.drop();
    }
  },
);

/** A file with another text in each place of this one; both have the same length, so that all else stays where it is. */
function withFault(file: Buffer, right: string, wrong: string): Buffer {
  expect(wrong.length).toBe(right.length);
  expect(file.includes(right)).toBe(true);
  for (let at = file.indexOf(right); at >= 0; at = file.indexOf(right, at)) file.write(wrong, at);
  return file;
}

/** Name of the version that is on trial on a host; undefined when none is. */
function trialIn(dataDir: string): string | undefined {
  const file = join(dataDir, 'versions/state.json');
  if (!existsSync(file)) return undefined;
  return (JSON.parse(readFileSync(file, 'utf8')) as { trial: { name: string } | null }).trial?.name;
}

/** The hub that the agent has joined, and the other one. */
function joinedOf([one, two]: readonly [ClusterHub, ClusterHub]): Promise<readonly [ClusterHub, ClusterHub]> {
  const hasJoined = ({ lines }: ClusterHub) => lines.some(({ msg }) => msg === 'agent joined');
  return eventually(async () => {
    if (hasJoined(one)) return [one, two] as const;
    return hasJoined(two) ? ([two, one] as const) : undefined;
  });
}
