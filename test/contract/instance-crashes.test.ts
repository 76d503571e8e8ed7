/** The crashes of an instance (contract 12.26), with a real hub, a real agent and a real instance program; and agents that cannot
 *  tell them. */
import { describe, expect, it, onTestFinished } from 'vitest';
import { FakeAgent } from '../support/agents/fake-agent.js';
import { eventually } from '../support/eventually.js';
import { startHub } from '../support/hubs/running-hub.js';
import { Api, base64, expectError } from '../support/interface/api.js';
import { endPrograms, startAgent, startHub as startHubProgram } from '../support/programs/programs.js';
import { temporaryFolder } from '../support/temporary-folder.js';

const PATH = '/api/x/instances/sim-1/crashes';

interface Crashes {
  readonly since: string;
  readonly count: number;
  readonly crashes: readonly { readonly at: string; readonly reason: string; readonly taskId?: string }[];
}

it('a crash is told with its time, its reason and its task, and a restart by command is none', async () => {
  const folder = await temporaryFolder();
  onTestFinished(async () => {
    await endPrograms();
    await folder.remove();
  });
  const beganMs = Date.now();
  const hub = await startHubProgram(folder.path);
  startAgent(folder.path, hub, 'host', { instances: [{ id: 'sim-1', version: '1' }] });
  const api = new Api({ address: hub.baseUrl });
  const instance = '/api/2.0/workbench/node/instance/sim-1';
  const startOfUpInstance = () =>
    eventually(async () => {
      const { body } = await api.get(instance);
      return body['status'] === 'UP' ? body['startedDatetime'] : undefined;
    });
  const before = await startOfUpInstance();
  expect((await api.call('PATCH', `${instance}/restart`)).status).toBe(202);
  await eventually(async () => expect(await startOfUpInstance()).not.toBe(before));
  const none = (await api.get(PATH)).body as unknown as Crashes;
  expect(none).toEqual({ since: expect.any(String) as string, count: 0, crashes: [] });

  // Ends the program that runs it, but only in its first attempt.
  const script = `#!/bin/sh\nmkdir ${folder.path}/crashed && echo the end is near >&2 && sleep 0.2 && kill -9 $PPID && sleep 60\ntrue`;
  const id = await api.batchJob({ inputScripts: [{ content: base64(script) }] });
  const path = `/api/2.0/workbench/task/execute-batch-job/${id}/result?timeout=20`;
  expect((await api.get(path)).body).toMatchObject({ status: 'FINISHED' });
  const { since, count, crashes } = (await api.get(PATH)).body as unknown as Crashes;
  expect(count).toBe(1);
  expect(crashes).toEqual([
    {
      at: expect.any(String) as string,
      reason: expect.stringMatching(/^the instance program was ended by SIGKILL/) as string,
      taskId: id,
    },
  ]);
  const [sinceMs, atMs] = [Date.parse(since), Date.parse(crashes[0]?.at ?? '')];
  expect(sinceMs).toBeGreaterThanOrEqual(beganMs);
  expect(atMs).toBeGreaterThan(sinceMs);
  expect(atMs).toBeLessThanOrEqual(Date.now());
});

describe('an agent that cannot tell them', () => {
  it('because it is of an earlier version is not asked, and stays connected', async () => {
    const hub = await startHub();
    onTestFinished(() => hub.stop());
    const api = new Api(hub);
    const agent = await FakeAgent.join(hub);
    const message = 'instance sim-1: agent agent-1 has version 0.1.0, which does not answer this: update it';
    expectError(await api.get(PATH), 502, PATH, message);
    expect(agent.heard.some(({ type }) => type === 'request')).toBe(false);
    expect((await api.get('/api/2.0/workbench/node/agent/agent-1')).body).toMatchObject({ status: 'UP' });
    await agent.leave();
    expectError(await api.get(PATH), 502, PATH, 'instance sim-1: agent agent-1 is not connected');
    const unknown = PATH.replace('sim-1', 'sim-9');
    expectError(await api.get(unknown), 404, unknown, 'there is no instance with the id "sim-9"');
  });
});
