/** The table of faults of joined hubs (packages/docs/joined-hubs.md): each cell as a test. */
import { readFileSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { WebSocketServer } from 'ws';
import { FakeAgent } from '../support/agents/fake-agent.js';
import { eventually } from '../support/eventually.js';
import {
  FAULTS,
  type Fault,
  faultTableAsText,
  OPERATIONS,
  type Operation,
  WORKS,
} from '../support/hubs/fault-table.js';
import { type RunningHub, startHub } from '../support/hubs/running-hub.js';
import { configOfSite, type Item, instanceAt, listed, resultOf } from '../support/hubs/sites.js';
import { Api } from '../support/interface/api.js';
import { Valve } from '../support/proxies/gate.js';
import { temporaryFolder } from '../support/temporary-folder.js';

const TASK = '/api/2.0/workbench/task';
const INSTANCE = '/api/2.0/workbench/node/instance';
const NAMES = ['press', 'mill', 'saw'];
/** In the order of the cells: the last one ends the fault. */
const OPERATION_NAMES = Object.keys(OPERATIONS) as Operation[];
type Ref = Awaited<ReturnType<typeof startedJob>>['ref'];

interface World {
  readonly home: Api;
  readonly site: Api;
  readonly host: FakeAgent;
  /** A job that has ended, one that runs on, and one that is canceled, with their loans at the site. */
  readonly ended: string;
  readonly running: { readonly id: string; readonly ref: Ref };
  readonly canceled: { readonly id: string; readonly ref: Ref };
  /** Ends the fault; the agent of the site is `host` or joins again. */
  repair(): Promise<FakeAgent>;
  end(): Promise<void>;
}

async function startedJob(home: Api, host: FakeAgent) {
  const id = await home.batchJob();
  return { id, ref: (await host.hear('assign')).ref };
}

/** Headquarters and a site, with a job that has ended and two that run, before anything is away. */
async function twoHubs(fault: Fault): Promise<World> {
  const folder = await temporaryFolder();
  const start = async (name: string, config: NonNullable<Parameters<typeof startHub>[0]>['config'] = {}) => {
    const dataDir = join(folder.path, name);
    await mkdir(dataDir, { recursive: true });
    return startHub({ dataDir, config });
  };
  const home = await start('hq');
  const valve = await Valve.open(home.address);
  const entrance = { address: valve.address.replace('ws', 'http'), token: home.token };
  const siteConfig = configOfSite(entrance, 'berlin');
  const site = await start('berlin', siteConfig);
  const setup = { id: 'host-1', instances: NAMES.map((id) => ({ id })) };
  const host = await FakeAgent.join(site, setup);
  const hubs: RunningHub[] = [home, site];
  const apis = { home: new Api(home), site: new Api(site) };
  for (const name of NAMES) await instanceAt(apis.home, `berlin:${name}`, { lent: 'OFFERED' });
  const ended = await startedJob(apis.home, host);
  const output = { path: 'result.txt', ...(await host.upload('42')) };
  host.report(ended.ref, 'OK', { outputFiles: [output] });
  await resultOf(apis.home, ended.id, 'execute-batch-job');
  const running = await startedJob(apis.home, host);
  const canceled = await startedJob(apis.home, host);
  host.say({ type: 'output', ref: running.ref, offset: 0, text: 'step 1\n' });
  await eventually(async () => (await apis.home.get(`${TASK}/${running.id}/log`)).text.includes('step 1'));
  const restart = async (hub: RunningHub, name: string, config: Parameters<typeof start>[1]) => {
    const { port } = new URL(hub.address);
    const again = await start(name, { ...config, server: { ...config?.server, port: Number(port) } });
    hubs.push(again);
    return again;
  };
  const repair = {
    site: async () => {
      const again = await restart(site, 'berlin', siteConfig);
      return FakeAgent.join(again, { ...setup, running: [running.ref, canceled.ref] });
    },
    link: async () => {
      valve.release();
      return host;
    },
    home: async () => {
      await restart(home, 'hq', {});
      return host;
    },
    versions: async () => host,
  }[fault];
  if (fault === 'site') await site.stop();
  if (fault === 'link') valve.shut();
  if (fault === 'home') await home.stop();
  else for (const name of NAMES) await instanceAt(apis.home, `berlin:${name}`, { status: 'UNKNOWN' });
  return {
    ...apis,
    host,
    ended: ended.id,
    running,
    canceled,
    repair,
    end: async () => {
      await Promise.all(hubs.map((hub) => hub.stop()));
      await valve.close();
      await folder.remove();
    },
  };
}

const waitsForTheSite = async ({ home }: World) => {
  const id = await home.simulateWork();
  expect((await home.task(id))['message']).toMatch(/3 instances fit, but none is up: 0 down, 3 unreachable/);
};
const homeShowsWhatWasPrinted = async ({ home, running }: World) =>
  expect((await home.get(`${TASK}/${running.id}/log`)).text).toContain('step 1');
const homeEndsItAtOnce = async ({ home, canceled }: World) => {
  expect((await home.delete(`${TASK}/${canceled.id}/cancel?force=true`)).status).toBe(204);
  expect(await home.task(canceled.id)).toMatchObject({ status: 'CANCELED' });
};
const unknownAtHome = async ({ home }: World) => {
  for (const name of NAMES) await instanceAt(home, `berlin:${name}`, { status: 'UNKNOWN' });
  expect((await home.get('/api/x/agents/berlin')).body).toMatchObject({
    status: 'DOWN',
    lastSeenAt: expect.any(String),
  });
};
const commandFails = async ({ home }: World) => {
  const { status, body } = await home.call('PATCH', `${INSTANCE}/berlin:saw/stop`);
  expect({ status, message: body['message'] }).toEqual({
    status: 502,
    message: expect.stringContaining('not connected'),
  });
};
const commandsReach = async ({ site, host }: World) => {
  const stopping = site.call('PATCH', `${INSTANCE}/saw/stop`);
  const { requestId } = await host.hear('request');
  host.say({ type: 'reply', requestId, error: null, text: null });
  expect((await stopping).status).toBe(202);
};
const homeHasOutputs = async ({ home, ended }: World) =>
  expect((await home.get(`/api/x/tasks/${ended}/outputs/result.txt`)).text).toBe('42');
const siteFollows = async ({ site, running }: World) =>
  expect((await site.get(`${TASK}/${running.ref.taskId}/log`)).text).toContain('step 1');
/** The job ends at home with its first attempt, and the canceled one ends at the site. `host` reports before the repair if it can. */
const endsAfterRepair = async (world: World) => {
  const { ref } = world.running;
  const wasConnected = world.host.isConnected;
  if (wasConnected) {
    world.host.report(ref, 'OK');
    await eventually(async () => (await world.site.task(ref.taskId))['status'] === 'FINISHED');
  }
  const host = await world.repair();
  if (!wasConnected) host.report(ref, 'OK');
  expect(await resultOf(world.home, world.running.id, 'execute-batch-job')).toMatchObject({
    status: 'FINISHED',
  });
  const { body } = await world.home.get(`/api/x/tasks/${world.running.id}`);
  expect(body['attempts']).toHaveLength(1);
  await host.hear('cancel', ({ ref }) => ref.taskId === world.canceled.ref.taskId);
};

const CELLS: Readonly<
  Record<Exclude<Fault, 'versions'>, Readonly<Record<Operation, (world: World) => Promise<unknown>>>>
> = {
  site: {
    create: waitsForTheSite,
    follow: homeShowsWhatWasPrinted,
    cancel: homeEndsItAtOnce,
    list: unknownAtHome,
    command: commandFails,
    fetch: homeHasOutputs,
    run: endsAfterRepair,
  },
  link: {
    create: waitsForTheSite,
    follow: async (world) => {
      await homeShowsWhatWasPrinted(world);
      const { ref } = world.running;
      world.host.say({ type: 'output', ref, offset: 7, text: 'step 2\n' });
      await eventually(async () =>
        (await world.site.get(`${TASK}/${ref.taskId}/log`)).text.includes('step 2'),
      );
    },
    cancel: homeEndsItAtOnce,
    list: async (world) => {
      await unknownAtHome(world);
      for (const name of NAMES) await instanceAt(world.site, name, { status: 'UP' });
    },
    command: async (world) => {
      await commandFails(world);
      await commandsReach(world);
    },
    fetch: homeHasOutputs,
    run: endsAfterRepair,
  },
  home: {
    create: async ({ home, site }) => {
      await expect(home.simulateWork()).rejects.toThrow();
      expect(await site.simulateWork({ classifiers: [{ type: 'LABLES', value: 'none' }] })).toBeTypeOf(
        'string',
      );
    },
    follow: siteFollows,
    cancel: async ({ site, host, canceled }) => {
      const { taskId } = canceled.ref;
      expect((await site.delete(`${TASK}/${taskId}/cancel?force=true`)).status).toBe(204);
      await host.hear('cancel');
      host.report(canceled.ref, 'CANCELED');
    },
    list: async ({ site }) => {
      for (const name of NAMES) await instanceAt(site, name, { status: 'UP' });
      await eventually(async () => {
        const [upstream] = await listed(site, '/api/x/upstreams');
        return upstream?.['status'] === 'DOWN' && String(upstream['message']).includes('ECONN');
      });
    },
    command: commandsReach,
    fetch: async ({ site, host, running }) => {
      const output = { path: 'field.txt', ...(await host.upload('wide')) };
      const { taskId } = running.ref;
      host.report(running.ref, 'OK', { outputFiles: [output] });
      await host.hear('acknowledged', ({ ref }) => ref.taskId === taskId);
      expect((await site.get(`/api/x/tasks/${taskId}/outputs/field.txt`)).text).toBe('wide');
    },
    run: async ({ home, host, running, canceled, repair }) => {
      await repair();
      expect(await resultOf(home, running.id, 'execute-batch-job')).toMatchObject({ status: 'FINISHED' });
      expect((await home.get(`/api/x/tasks/${running.id}/outputs/field.txt`)).text).toBe('wide');
      const again = await host.hear('assign');
      const { body } = await home.get(`/api/x/tasks/${canceled.id}`);
      expect(body['attempts']).toMatchObject([{ outcome: 'RETURN' }, {}]);
      host.report(again.ref, 'OK');
      expect(await resultOf(home, canceled.id, 'execute-batch-job')).toMatchObject({ status: 'FINISHED' });
    },
  },
};

describe.each(Object.keys(CELLS) as (keyof typeof CELLS)[])('while a part is away: %s', (fault) => {
  let world: World;
  beforeAll(async () => {
    world = await twoHubs(fault);
  });
  afterAll(() => world.end());

  it.each(OPERATION_NAMES)(`while ${FAULTS[fault]}: %s`, async (operation) => {
    await CELLS[fault][operation](world);
  });
});

/** A hub of an earlier version, as far as one that would join it can tell. */
async function earlierHub(): Promise<{ readonly address: string; readonly stop: () => Promise<void> }> {
  const server = createServer((_, response) => response.writeHead(404).end());
  const sockets = new WebSocketServer({ server });
  const status = { hubVersion: '0.0.9', protocolVersions: [1], clockMs: 0, fault: null };
  sockets.on('connection', (socket) => socket.send(JSON.stringify(status), () => socket.close(1000)));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    address: `http://127.0.0.1:${port}`,
    stop: () => new Promise<void>((resolve) => server.close(() => resolve())),
  };
}

describe(`while ${FAULTS.versions}`, () => {
  let site: RunningHub;
  let api: Api;
  let host: FakeAgent;
  let job: Awaited<ReturnType<typeof startedJob>>;
  let stop: () => Promise<void>;
  beforeAll(async () => {
    const earlier = await earlierHub();
    site = await startHub({ config: configOfSite({ address: earlier.address, token: 'token' }, 'berlin') });
    api = new Api(site);
    host = await FakeAgent.join(site, { id: 'host-1', instances: NAMES.map((id) => ({ id })) });
    job = await startedJob(api, host);
    stop = async () => {
      await site.stop();
      await earlier.stop();
    };
  });
  afterAll(() => stop());

  const cells: Readonly<Record<Operation, () => Promise<unknown>>> = {
    create: () => api.simulateWork({ classifiers: [{ type: 'LABLES', value: 'none' }] }),
    follow: async () => {
      host.say({ type: 'output', ref: job.ref, offset: 0, text: 'step 1\n' });
      await eventually(async () => (await api.get(`${TASK}/${job.id}/log`)).text.includes('step 1'));
    },
    cancel: async () => {
      const other = await startedJob(api, host);
      expect((await api.delete(`${TASK}/${other.id}/cancel?force=true`)).status).toBe(204);
      await host.hear('cancel');
      host.report(other.ref, 'CANCELED');
    },
    list: async () => {
      for (const name of NAMES) await instanceAt(api, name, { status: 'UP' });
      const message = expect.stringContaining(
        'has version 0.0.9, which takes agents only, no hubs: update it',
      );
      await eventually(async () =>
        expect((await listed(api, '/api/x/upstreams'))[0] as Item).toMatchObject({ status: 'DOWN', message }),
      );
      expect(site.log.map(({ msg }) => msg)).toContainEqual(expect.stringContaining('has version 0.0.9'));
    },
    command: async () => {
      const stopping = api.call('PATCH', `${INSTANCE}/saw/stop`);
      const { requestId } = await host.hear('request');
      host.say({ type: 'reply', requestId, error: null, text: null });
      expect((await stopping).status).toBe(202);
    },
    fetch: async () => {
      const output = { path: 'result.txt', ...(await host.upload('42')) };
      host.report(job.ref, 'OK', { outputFiles: [output] });
      await resultOf(api, job.id, 'execute-batch-job');
      expect((await api.get(`/api/x/tasks/${job.id}/outputs/result.txt`)).text).toBe('42');
    },
    run: async () => expect(await api.task(job.id)).toMatchObject({ status: 'FINISHED' }),
  };

  it.each(OPERATION_NAMES)('%s', async (operation) => {
    await cells[operation]();
  });
});

it('the page has the table of faults as it is tested', () => {
  const page = readFileSync(new URL('../../packages/docs/joined-hubs.md', import.meta.url), 'utf8');
  const [, table = ''] = /<!-- faults -->\n([\s\S]*?)<!-- end -->/.exec(page) ?? [];
  expect(table.trim()).toBe(faultTableAsText());
  expect(Object.keys(WORKS)).toEqual(Object.keys(FAULTS));
});
