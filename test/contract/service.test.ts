/** Health, info and the probes (contract 9.1 to 9.3). */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { FakeAgent } from '../support/agents/fake-agent.js';
import { api, hub, hubForAllTests } from '../support/hubs/hub-for-tests.js';
import { startHub } from '../support/hubs/running-hub.js';
import { Api } from '../support/interface/api.js';
import { TESTED_STORE } from '../support/stores/tested-store.js';

hubForAllTests();

describe('health', () => {
  it('describes every component, field for field', async () => {
    const { status, body } = await api.get('/actuator/health');
    expect(status).toBe(200);
    expect(body).toEqual({
      status: 'UP',
      components: {
        diskSpace: {
          status: 'UP',
          details: {
            total: expect.any(Number),
            free: expect.any(Number),
            threshold: 10_485_760,
            exists: true,
          },
        },
        nodes: { status: 'UP', details: { totalInstances: 0, runningInstances: 0 } },
        ping: { status: 'UP' },
        ...(TESTED_STORE === 'postgres' ? { db: { status: 'UP' } } : {}),
      },
    });
  });

  it('counts instances, and is DOWN when there are some and none runs', async () => {
    const nodes = async () => {
      const { status, body } = await api.get('/actuator/health');
      const { components } = body as { components: { nodes: object } };
      return { http: status, health: body['status'], ...components.nodes };
    };
    const agent = await FakeAgent.join(hub, {
      instances: [{ id: 'a' }, { id: 'b', status: 'FAILED', upForMs: null }, { id: 'c' }],
    });
    expect(await nodes()).toEqual({
      http: 200,
      health: 'UP',
      status: 'UP',
      details: { totalInstances: 3, runningInstances: 2 },
    });
    await agent.leave();
    expect(await nodes()).toEqual({
      http: 200,
      health: 'DOWN',
      status: 'DOWN',
      details: { totalInstances: 3, runningInstances: 0 },
    });
  });

  it.each([200, 503] as const)(
    'with a missing disk is DOWN, answered with downStatus %d',
    async (downStatus) => {
      const diskSpacePath = join(hub.config.dataDir, 'not there');
      const other = await startHub({ config: { health: { downStatus, diskSpacePath } } });
      const { status, body } = await new Api(other).get('/actuator/health');
      expect(status).toBe(downStatus);
      expect(body).toMatchObject({
        status: 'DOWN',
        components: {
          diskSpace: { status: 'DOWN', details: { total: 0, free: 0, exists: false } },
          nodes: { status: 'UP' },
        },
      });
      await other.stop();
    },
  );

  it('with a disk that cannot be read is DOWN', async () => {
    const other = await startHub({ config: { health: { diskSpacePath: `${process.execPath}/below` } } });
    const { status, body } = await new Api(other).get('/actuator/health');
    expect(status).toBe(200);
    expect(body).toMatchObject({ status: 'DOWN', components: { diskSpace: { status: 'DOWN' } } });
    await other.stop();
  });

  it('with too little disk space is DOWN', async () => {
    const other = await startHub({
      config: { health: { diskSpaceThreshold: '4000TiB', diskSpacePath: hub.config.dataDir } },
    });
    const { body } = await new Api(other).get('/actuator/health');
    expect(body).toMatchObject({
      status: 'DOWN',
      components: { diskSpace: { status: 'DOWN', details: { threshold: 4000 * 1024 ** 4, exists: true } } },
    });
    await other.stop();
  });
});

it('info names the build', async () => {
  const { status, body } = await api.get('/actuator/info');
  expect(status).toBe(200);
  const root = new URL('../../package.json', import.meta.url);
  const { version } = JSON.parse(readFileSync(root, 'utf8')) as { version: string };
  expect(body).toEqual({
    application: {
      name: 'Workbench Hub',
      version,
      revision: expect.stringMatching(/^([0-9a-f]{7,}|unknown)/),
      buildDate: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}[+-]\d{4}$/),
      vendor: expect.any(String),
    },
  });
});

describe('the probes', () => {
  it.each(['/livez', '/readyz'])('%s is 200 as long as the hub works', async (path) => {
    expect(await api.get(path)).toMatchObject({ status: 200, body: { status: 'UP' } });
  });

  it('fail when the hub stops, which ends long polls at once', async () => {
    const stopping = await startHub();
    const client = new Api(stopping);
    const id = await client.simulateWork();
    const waiting = client.get(`/api/2.0/workbench/task/simulate-work/${id}/result?timeout=60`);
    // Requests of one process arrive in order: the waiting request has arrived when the later one gets its response.
    expect((await client.get('/readyz')).status).toBe(200);
    const began = performance.now();
    const stopped = stopping.stop();
    expect((await waiting).body).toMatchObject({ status: 'WAITING' });
    await stopped;
    expect(performance.now() - began).toBeLessThan(4000);
    await expect(client.get('/readyz')).rejects.toThrow('fetch failed');
  });
});
