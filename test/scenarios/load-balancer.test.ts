/** HAProxy and nginx before hubs, with the configurations that the page load-balancer.md names. */
import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { readdir, stat } from 'node:fs/promises';
import { createServer, type IncomingMessage, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { FakeAgent } from '../support/agents/fake-agent.js';
import { eventually } from '../support/eventually.js';
import {
  isMissing,
  LOAD_BALANCERS,
  type LoadBalancer,
  type LoadBalancerKind,
  startLoadBalancer,
} from '../support/hubs/load-balancers.js';
import { type HubSetup, type RunningHub, startHub } from '../support/hubs/running-hub.js';
import { EventReader } from '../support/interface/event-reader.js';
import { type TemporaryFolder, temporaryFolder } from '../support/temporary-folder.js';

vi.setConfig({ testTimeout: 120_000 });

const TASKS = '/api/2.0/workbench/task';
const AGENTS = '/api/2.0/workbench/node/agent/list';
const MIB = 1024 ** 2;
const FILE_BYTES = 100 * MIB;

let folder: TemporaryFolder;
let hubs: RunningHub[];
let balancer: LoadBalancer | undefined;
beforeEach(async () => {
  folder = await temporaryFolder();
  hubs = [];
});
afterEach(async () => {
  await balancer?.stop();
  balancer = undefined;
  await Promise.all(hubs.map((hub) => hub.stop()));
  await folder.remove();
});

async function startHubs(...setups: HubSetup[]): Promise<RunningHub[]> {
  for (const setup of setups) hubs.push(await startHub(setup));
  return hubs;
}

async function start(kind: LoadBalancerKind, ...setups: HubSetup[]): Promise<LoadBalancer> {
  balancer = await startLoadBalancer(kind, await startHubs(...setups), folder.path);
  return balancer;
}

const createTask = (address: string) =>
  fetch(`${address}${TASKS}/simulate-work/create`, {
    method: 'POST',
    body: JSON.stringify({ duration: 60 }),
  }).then(async (response) => ((await response.json()) as { id: string }).id);

/** Number of agents that the hub behind this address knows. */
async function agentsAt(address: string): Promise<number> {
  const response = await fetch(address + AGENTS);
  expect(response.status).toBe(200);
  return ((await response.json()) as { totalElements: number }).totalElements;
}

/** Size of all blobs of a hub, with those that are arriving. */
async function storedBytes({ config }: RunningHub): Promise<number> {
  const path = join(config.dataDir, 'files');
  const entries = await readdir(path, { recursive: true, withFileTypes: true });
  const sizes = entries
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) =>
      stat(join(parentPath, name)).then(
        ({ size }) => size,
        () => 0,
      ),
    );
  return (await Promise.all(sizes)).reduce((sum, size) => sum + size, 0);
}

/** Begins a request; resolves with its response when the body is ended. */
function send(
  url: string,
  options: { method?: string; headers?: Record<string, string>; localAddress?: string },
) {
  const sent = request(url, options);
  const response = once(sent, 'response').then(([message]) => message as IncomingMessage);
  return { sent, response };
}

describe.each(LOAD_BALANCERS)('%s', (kind) => {
  const missing = isMissing(kind);
  const title = missing ? `SKIPPED, ${kind} is not installed (apt-get install ${kind})` : 'before one hub';

  describe.skipIf(missing)(title, () => {
    it('passes on the address of the client, and no other that it claims', async () => {
      const { address } = await start(kind, { config: { server: { trustedProxies: ['127.0.0.1'] } } });
      const { sent, response } = send(`${address}/agent/files/${'a'.repeat(64)}`, {
        localAddress: '127.0.0.2',
        headers: { 'x-forwarded-for': '192.0.2.7' },
      });
      sent.end();
      expect((await response).statusCode).toBe(401);
      const refusal = hubs[0]?.log.find(({ msg }) => msg === 'an agent was refused');
      expect(refusal).toMatchObject({ remoteAddress: '127.0.0.2' });
    });

    it('passes on the WebSocket of an agent', async () => {
      const { address } = await start(kind, {});
      const [hub] = hubs as [RunningHub];
      const agent = await FakeAgent.join({ address, token: hub.token });
      const id = await createTask(address);
      const { ref } = await agent.hear('assign');
      expect(ref.taskId).toBe(id);
      expect(await agent.end(ref, 'OK')).toBe(true);
      await agent.leave();
    });

    it('lets a long poll wait, and passes on its response at once', async () => {
      const { address } = await start(kind, {});
      const id = await createTask(address);
      const polled = fetch(`${address}${TASKS}/simulate-work/${id}/result?timeout=60`);
      const waited = await Promise.race([
        polled,
        new Promise((resolve) => setTimeout(resolve, 1000, 'waits')),
      ]);
      expect(waited).toBe('waits');
      await fetch(`${address}${TASKS}/${id}/cancel?force=true`, { method: 'DELETE' });
      expect(await (await polled).json()).toMatchObject({ status: 'CANCELED' });
    });

    it('passes on events as they happen', async () => {
      const { address } = await start(kind, {});
      const events = await EventReader.open({ address }, '/api/x/events');
      const first = await createTask(address);
      await events.find(({ data }) => JSON.stringify(data).includes(first));
      const second = await createTask(address);
      await events.find(({ data }) => JSON.stringify(data).includes(second));
      events.close();
    });

    it('passes on an upload of 100 MiB as it arrives, and the download', async () => {
      const { address } = await start(kind, {});
      const [hub] = hubs as [RunningHub];
      const content = randomBytes(FILE_BYTES);
      const boundary = 'boundary-of-the-test';
      const begin = `--${boundary}\r\nContent-Disposition: form-data; name="file"; filename="big.bin"\r\n\r\n`;
      const end = `\r\n--${boundary}--\r\n`;
      const { sent, response } = send(`${address}/api/2.0/storage/input/upload`, {
        method: 'POST',
        headers: {
          'content-type': `multipart/form-data; boundary=${boundary}`,
          'content-length': `${begin.length + FILE_BYTES + end.length}`,
        },
      });
      sent.write(begin);
      sent.write(content.subarray(0, FILE_BYTES / 2));
      await eventually(async () => (await storedBytes(hub)) > FILE_BYTES / 4);
      sent.write(content.subarray(FILE_BYTES / 2));
      sent.end(end);
      const { statusCode } = (await response).resume();
      expect(statusCode).toBeLessThan(300);

      const hash = createHash('sha256');
      const downloaded = await fetch(`${address}/api/x/storage/inputs/big.bin`);
      for await (const piece of downloaded.body ?? []) hash.update(piece as Uint8Array);
      expect(hash.digest('hex')).toBe(createHash('sha256').update(content).digest('hex'));
    });
  });

  describe.skipIf(missing)('before two hubs', () => {
    const cluster: HubSetup = { otherHubs: () => ['ws://127.0.0.1:1'] };

    it('gives each of them requests, and none fails while one of them stops', async () => {
      const { address } = await start(kind, cluster, cluster);
      const [stopped, other] = hubs as [RunningHub, RunningHub];
      // It does not move, so that the hub is not ready for a while before it stops.
      const agent = await FakeAgent.join(stopped, { takes: ['move'] });
      const seen = new Set<number>();
      await eventually(async () => seen.add(await agentsAt(address)).size === 2);

      const stopping = stopped.stop();
      await agent.hear('move');
      let isStopped = false;
      void stopping.then(() => {
        isStopped = true;
      });
      while (!isStopped) await agentsAt(address);
      for (let times = 0; times < 20; times++) expect(await agentsAt(address)).toBe(0);
      expect(await agentsAt(other.address)).toBe(0);
    });

    it('takes a hub that stops out, and in again when it is ready', async () => {
      const dataDir = join(folder.path, 'first');
      const { address } = await start(kind, { ...cluster, dataDir }, cluster);
      const [first] = hubs as [RunningHub, RunningHub];
      const agent = await FakeAgent.join(first, { takes: ['move'] });
      const stopping = first.stop();
      await agent.hear('move');
      // nginx has no health checks of its own: it notices when the hub no longer listens.
      if (kind === 'nginx') await stopping;
      await eventually(async () => {
        for (let times = 0; times < 10; times++) if ((await agentsAt(address)) > 0) return false;
        return true;
      });
      await stopping;
      const port = Number(new URL(first.address).port);
      hubs[0] = await startHub({ dataDir, config: { server: { port } } });
      const again = await FakeAgent.join(hubs[0]);
      await eventually(async () => (await agentsAt(address)) > 0, 20_000);
      await again.leave();
    });
  });

  // nginx without its commercial modules has no health checks.
  if (kind === 'nginx') return;
  describe.skipIf(missing)('before a hub that serves requests and is not ready', () => {
    it('gives it none', async () => {
      let [probes, others] = [0, 0];
      const unready = createServer(({ url }, response) => {
        if (url === '/readyz') probes++;
        else others++;
        response.writeHead(url === '/readyz' ? 503 : 200).end();
      });
      await once(unready.listen(0, '127.0.0.1'), 'listening');
      const { port } = unready.address() as AddressInfo;
      const [hub] = (await startHubs({})) as [RunningHub];
      balancer = await startLoadBalancer(kind, [hub, { address: `http://127.0.0.1:${port}` }], folder.path);
      // Two checks that fail take it out.
      await eventually(() => probes > 4);
      others = 0;
      for (let times = 0; times < 20; times++) expect(await agentsAt(balancer.address)).toBe(0);
      expect(others).toBe(0);
      unready.close();
      unready.closeAllConnections();
    });
  });
});
