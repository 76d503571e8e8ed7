/** Large files on their way from `wb` to the hub: over cuts, kills of the hub and of `wb` itself. */
import { type ChildProcess, spawn } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, expect, it, onTestFinished } from 'vitest';
import { eventually } from '../support/eventually.js';
import { endPrograms, type HubProgram, startHub } from '../support/programs/programs.js';
import { type CuttingProxy, startCuttingProxy } from '../support/proxies/cutting-proxy.js';
import { type TemporaryFolder, temporaryFolder } from '../support/temporary-folder.js';

const WB = fileURLToPath(new URL('../../packages/cli/bin/wb.js', import.meta.url));
const MIB = 1024 * 1024;
const CONTENT = randomBytes(96 * MIB);
const DIGEST = createHash('sha256').update(CONTENT).digest('hex');

let folder: TemporaryFolder;
const running = new Set<ChildProcess>();
beforeEach(async () => {
  folder = await temporaryFolder();
  writeFileSync(join(folder.path, 'gear.bin'), CONTENT);
});
afterEach(async () => {
  for (const child of running) child.kill('SIGKILL');
  await endPrograms();
  await folder.remove();
});

async function proxyTo(hub: HubProgram, cutsAt: readonly number[] = []): Promise<CuttingProxy> {
  const proxy = await startCuttingProxy(hub.baseUrl, cutsAt);
  onTestFinished(proxy.stop);
  return proxy;
}

function wb(address: string, args: readonly string[]) {
  const child = spawn(process.execPath, [WB, ...args], {
    cwd: folder.path,
    env: { PATH: process.env['PATH'], WB_PROFILES: join(folder.path, 'profiles.json'), WB_URL: address },
  });
  running.add(child);
  let told = '';
  child.stderr.on('data', (chunk: Buffer) => {
    told += chunk.toString();
  });
  child.stdout.resume();
  const ended = once(child, 'close').then(([code]) => {
    running.delete(child);
    return { code: code as number | null, told };
  });
  return { child, ended };
}

async function stored(hub: HubProgram): Promise<unknown> {
  const list = await fetch(`${hub.baseUrl}/api/x/storage/input`);
  return ((await list.json()) as { files: unknown[] }).files;
}

it('a file of 96 MiB, cut five times, arrives whole with at most 5 % sent again', async () => {
  const hub = await startHub(folder.path);
  const proxy = await proxyTo(
    hub,
    [10, 25, 40, 60, 90].map((mib) => mib * MIB),
  );
  expect(await wb(proxy.address, ['storage', 'put', 'gear.bin']).ended).toEqual({ code: 0, told: '' });
  expect(proxy.cuts).toBe(5);
  expect(proxy.sentBytes).toBeLessThan(CONTENT.length * 1.05);
  expect(await stored(hub)).toEqual([expect.objectContaining({ name: 'gear.bin', digest: DIGEST })]);
});

it('a hub that is killed and restarted goes on with the file', async () => {
  let hub = await startHub(folder.path);
  const { port } = new URL(hub.baseUrl);
  const proxy = await proxyTo(hub);
  const { ended } = wb(proxy.address, ['storage', 'put', 'gear.bin', '--encrypt']);
  await eventually(() => proxy.sentBytes > 50 * MIB, 20_000);
  await hub.kill();
  hub = await startHub(folder.path, {}, Number(port));
  const told = expect.stringMatching(/^wb: the hub at \S+ cannot be reached: [^\n]+; trying again\n$/);
  expect(await ended).toEqual({ code: 0, told });
  expect(proxy.sentBytes).toBeLessThan(CONTENT.length + 34 * MIB);
  expect(await stored(hub)).toEqual([expect.objectContaining({ name: 'gear.bin', size: CONTENT.length })]);
});

it('the same command goes on where a killed one ended', async () => {
  const hub = await startHub(folder.path);
  const proxy = await proxyTo(hub);
  const first = wb(proxy.address, ['storage', 'put', 'gear.bin']);
  await eventually(() => proxy.sentBytes > 50 * MIB, 20_000);
  first.child.kill('SIGKILL');
  await first.ended;
  const sentBytes = proxy.sentBytes;
  expect((await wb(proxy.address, ['storage', 'put', 'gear.bin']).ended).code).toBe(0);
  expect(proxy.sentBytes - sentBytes).toBeLessThan(CONTENT.length - sentBytes + 17 * MIB);
  expect(await stored(hub)).toEqual([expect.objectContaining({ name: 'gear.bin', digest: DIGEST })]);
});

it('a large model that is there is not sent again, and two clients that send it at once do not disturb each other', async () => {
  const hub = await startHub(folder.path);
  const proxy = await proxyTo(hub);
  writeFileSync(join(folder.path, 'run.sh'), 'true');
  const args = ['submit', '--model', 'gear.bin', '--script', 'run.sh'];
  const both = await Promise.all([wb(proxy.address, args).ended, wb(proxy.address, args).ended]);
  expect(both.map(({ code }) => code)).toEqual([0, 0]);
  const sentBytes = proxy.sentBytes;
  expect((await wb(proxy.address, args).ended).code).toBe(0);
  expect(proxy.sentBytes - sentBytes).toBeLessThan(MIB);
  expect(await stored(hub)).toEqual([expect.objectContaining({ digest: DIGEST })]);
});
