/** Instances of the hub's own machine, without a separate agent. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { installationOn, platformLabels } from '@workbench-hub/shared/domain/installation';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { eventually } from '../support/eventually.js';
import { base64, outputsOf, restClient } from '../support/interface/rest-client.js';
import { endPrograms, type HubProgram, startAgent, startHub } from '../support/programs/programs.js';
import { type TemporaryFolder, temporaryFolder } from '../support/temporary-folder.js';

const INSTANCES = [{ id: 'own', version: '9.1.0', labels: ['gears'], count: 2 }];
const THIS_SYSTEM = platformLabels(installationOn(null, process));
const NODE = '/api/2.0/workbench/node';

interface Page {
  content: { id: string; agentId?: string; status: string; instances?: { id: string }[] }[];
}

let folder: TemporaryFolder;
beforeEach(async () => {
  folder = await temporaryFolder();
});
afterEach(async () => {
  await endPrograms();
  await folder.remove();
});

const pageOf = async (hub: HubProgram, path: string) =>
  (await (await fetch(hub.baseUrl + path)).json()) as Page;

const areUp = (hub: HubProgram) =>
  eventually(async () => {
    const { content } = await pageOf(hub, `${NODE}/instance/list`);
    return content.length === 2 && content.every(({ status }) => status === 'UP');
  });

/** Process id of the agent, by its own log lines in the log of the hub. */
async function agentProcess(hub: HubProgram): Promise<number> {
  await hub.logged(({ msg }) => msg === 'joined the hub');
  const children = readFileSync(`/proc/${hub.process.pid}/task/${hub.process.pid}/children`, 'utf8');
  return Number(children.trim().split(' ').at(-1));
}

describe('a hub with instances of its own', () => {
  it('runs a job on one program, and shows the instances as its own', async () => {
    const hub = await startHub(folder.path, {
      instances: INSTANCES,
      instanceHost: { platformLabels: true },
    });
    await areUp(hub);
    const client = restClient(hub.baseUrl);
    const id = await client.createBatchJob({
      classifiers: [{ type: 'LABELS', value: ['gears', ...THIS_SYSTEM].join(',') }],
      inputScripts: [{ content: base64("require('node:fs').writeFileSync('answer.txt', String(6 * 7))") }],
    });
    const result = await client.batchJobResult(id);
    expect(result).toMatchObject({ status: 'FINISHED' });
    expect(outputsOf(result)).toEqual({ 'answer.txt': '42' });

    const { content } = await pageOf(hub, `${NODE}/instance/list`);
    expect(content.map(({ id }) => id)).toEqual(['own-1', 'own-2']);
    expect(content.filter((instance) => 'agentId' in instance)).toEqual([]);
    expect((await pageOf(hub, `${NODE}/agent/list`)).content).toEqual([]);
    expect((await fetch(`${hub.baseUrl}${NODE}/agent/workbench-hub`)).status).toBe(404);
    const servers = await pageOf(hub, '/api/1.0/workbench/node/server/list');
    expect(servers.content).toMatchObject([{ status: 'UP', instances: [{ id: 'own-1' }, { id: 'own-2' }] }]);
    expect(await (await fetch(`${hub.baseUrl}/actuator/health`)).json()).toMatchObject({
      components: { nodes: { details: { totalInstances: 2, runningInstances: 2 } } },
    });
  });

  it('starts, stops and restarts them, and has their logs', async () => {
    const hub = await startHub(folder.path, { instances: INSTANCES });
    await areUp(hub);
    const of = (path: string, method = 'GET') =>
      fetch(`${hub.baseUrl}${NODE}/instance/own-1${path}`, { method });
    expect((await of('/stop', 'PATCH')).status).toBe(202);
    await eventually(async () => ((await (await of('')).json()) as { status: string }).status === 'DOWN');
    expect((await of('/start', 'PATCH')).status).toBe(202);
    await areUp(hub);
    expect((await of('/restart', 'PATCH')).status).toBe(202);
    expect((await of('/log/console')).status).toBe(200);
  });

  it('ends them with itself, and removes them when they are no longer configured', async () => {
    const hub = await startHub(folder.path, { instances: INSTANCES });
    await areUp(hub);
    expect(await hub.stop()).toBe(0);
    const again = await startHub(folder.path);
    expect((await pageOf(again, `${NODE}/instance/list`)).content).toEqual([]);
    expect((await pageOf(again, '/api/1.0/workbench/node/server/list')).content).toEqual([]);
  });

  it.runIf(process.platform === 'linux')(
    'starts the agent again when it dies, and requeues its task',
    async () => {
      const hub = await startHub(folder.path, { instances: INSTANCES });
      await areUp(hub);
      const client = restClient(hub.baseUrl);
      const marks = join(folder.path, 'marks');
      const id = await client.createBatchJob({
        inputScripts: [
          {
            content: base64(`
            const fs = require('node:fs');
            fs.appendFileSync(${JSON.stringify(marks)}, 'x');
            if (fs.readFileSync(${JSON.stringify(marks)}, 'utf8') === 'x') setInterval(() => undefined, 1000);
          `),
          },
        ],
      });
      const markCount = () => {
        try {
          return readFileSync(marks, 'utf8').length;
        } catch {
          return 0;
        }
      };
      await eventually(() => markCount() === 1);
      process.kill(await agentProcess(hub), 'SIGKILL');
      expect(await client.batchJobResult(id)).toMatchObject({ status: 'FINISHED' });
      expect(markCount()).toBe(2);
      expect(
        hub.lines.some(({ msg }) => /^the agent of the hub's own instances has ended/.test(String(msg))),
      ).toBe(true);
    },
  );

  it('reserves the id of its agent', async () => {
    const hub = await startHub(folder.path, { instances: INSTANCES });
    startAgent(folder.path, hub, 'workbench-hub', { instances: [] });
    const refused = await hub.logged(({ msg }) => msg === 'an agent was refused');
    expect(String(refused['reason'])).toContain('is reserved for the instances of the hub itself');
  });
});
