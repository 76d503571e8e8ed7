/** Failures are reported where their reader looks, and nothing hangs. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { eventually } from '../support/eventually.js';
import { base64, restClient } from '../support/interface/rest-client.js';
import { endPrograms, startAgent, startHub, startProgram } from '../support/programs/programs.js';
import { storeFor } from '../support/stores/tested-store.js';
import { type TemporaryFolder, temporaryFolder } from '../support/temporary-folder.js';

let folder: TemporaryFolder;

beforeEach(async () => {
  folder = await temporaryFolder();
});

afterEach(async () => {
  await endPrograms();
  await folder.remove();
});

const NODE = process.execPath;

describe('an instance program', () => {
  it('that does not exist, prints rubbish or ends at once is FAILED, with the reason in the log', async () => {
    const hub = await startHub(folder.path);
    const agent = startAgent(folder.path, hub, 'host', {
      instances: [
        { id: 'missing', version: '1', command: ['no-such-program'] },
        {
          id: 'rubbish',
          version: '1',
          command: [NODE, '-e', 'console.log("Welcome!"); setInterval(() => {}, 1000)'],
        },
        { id: 'ending', version: '1', command: [NODE, '-e', 'console.error("no license"); process.exit(3)'] },
      ],
    });
    const said = (instance: string, text: RegExp) =>
      agent.logged((line) => line['instance'] === instance && text.test(String(line.msg)));
    await said('missing', /no program "no-such-program"/);
    await said('rubbish', /only protocol messages may be on this stream, found "Welcome!"/);
    await said('ending', /code 3/);
    const client = restClient(hub.baseUrl);
    await eventually(async () => {
      const statuses = (await client.instances()).map(({ status }) => status);
      expect(statuses).toEqual(['FAILED', 'FAILED', 'FAILED']);
      return true;
    });
  });

  it('that dies with a task has it requeued, and the task fails after tasks.maxAttempts', async () => {
    const hub = await startHub(folder.path, { tasks: { maxAttempts: 2 } });
    startAgent(folder.path, hub, 'host', { instances: [{ id: 'sim', version: '1' }] });
    const client = restClient(hub.baseUrl);
    const id = await client.createBatchJob({
      inputScripts: [{ content: base64('process.kill(process.ppid, "SIGKILL")') }],
    });
    const result = await client.batchJobResult(id);
    expect(result.status).toBe('FAILED');
    expect(result).not.toHaveProperty('batchExecutionStatus');
    expect(result.message).toMatch(/died 2 times .*tasks\.maxAttempts.*SIGKILL/);
  });
});

describe('a model that MuJoCo cannot load', () => {
  it('fails the task with the message of MuJoCo', async () => {
    const hub = await startHub(folder.path);
    startAgent(folder.path, hub, 'host', {
      instances: [{ id: 'm', version: '3', command: ['workbench-mujoco'] }],
    });
    const client = restClient(hub.baseUrl);
    const id = await client.createBatchJob({
      inputModel: {
        type: 'MJCF',
        content: base64('<mujoco><worldbody><geom size="-1"/></worldbody></mujoco>'),
      },
      inputScripts: [{ content: base64('println("never")') }],
    });
    const result = await client.batchJobResult(id);
    expect(result.status).toBe('FAILED');
    expect(result).not.toHaveProperty('batchExecutionStatus');
    expect(result.message).toMatch(/model\.mjcf.*size/s);
  });
});

describe('an agent', () => {
  it('with a wrong token is refused in both logs, and joins once the token is right', async () => {
    const hub = await startHub(folder.path);
    const tokenFile = join(folder.path, 'token');
    writeFileSync(tokenFile, 'wrong');
    const agent = startAgent(folder.path, hub, 'host', {
      tokenFile,
      instances: [{ id: 'sim', version: '1' }],
    });
    await hub.logged(
      ({ msg, reason }) => msg === 'an agent was refused' && /agents\.token/.test(String(reason)),
    );
    await agent.logged(
      (line) => /token/.test(String(line.msg)) && /agents\.token|agent-token/.test(String(line.msg)),
    );
    writeFileSync(tokenFile, readFileSync(join(folder.path, 'hub', 'agent-token')));
    await hub.logged((line) => line.msg === 'agent joined');
  });

  it('with the id of another is refused with the reason in both logs', async () => {
    const hub = await startHub(folder.path);
    startAgent(folder.path, hub, 'host', { instances: [{ id: 'a', version: '1' }] });
    await hub.logged((line) => line.msg === 'agent joined');
    const twin = startAgent(folder.path, hub, 'twin', { id: 'host', instances: [{ id: 'b', version: '1' }] });
    await hub.logged((line) => line['code'] === 'AGENT_ID_TAKEN');
    await twin.logged((line) => /connected from elsewhere/.test(JSON.stringify(line)));
  });

  it('with a wrong configuration reports every error and exits with 2', async () => {
    const file = join(folder.path, 'agent.yaml');
    writeFileSync(file, 'hubb: ws://x\ninstances: [{ id: a, version: 9.1, count: 0 }]\n');
    const agent = startProgram('agent/bin/workbench-agent.js', ['--config', file], folder.path);
    expect(await agent.ended).toBe(2);
    expect(agent.printed.join('\n')).toMatch(/agent\.yaml: hubb: unknown key/);
    expect(agent.printed.join('\n')).toMatch(/instances\[0\]\.version: found 9\.1, allowed: a text/);
    expect(agent.printed.join('\n')).toMatch(/instances\[0\]\.count: found 0, allowed: at least 1/);
  });
});

describe('a hub', () => {
  it('does not start a second time on the same data, or on a port in use, with the reason', async () => {
    const hub = await startHub(folder.path);
    const start = (config: object) => {
      const file = join(folder.path, 'second.yaml');
      writeFileSync(file, JSON.stringify(config));
      return startProgram('hub/bin/workbench-hub.js', ['--config', file], folder.path);
    };
    const dataDir = join(folder.path, 'hub');
    const sameData = start({ server: { port: 0 }, dataDir, store: await storeFor(dataDir) });
    expect(await sameData.ended).toBe(2);
    expect(sameData.lines.at(-1)?.msg).toMatch(/another hub runs with the same dataDir/);
    const port = Number(new URL(hub.baseUrl).port);
    const samePort = start({ server: { port }, dataDir: join(folder.path, 'other') });
    expect(await samePort.ended).toBe(2);
    expect(samePort.lines.at(-1)?.msg).toMatch(/in use.*server\.port/);
  });

  it('refuses to listen beyond loopback while security is off', async () => {
    const hub = startProgram('hub/bin/workbench-hub.js', [], folder.path, {
      WORKBENCH_HUB_SERVER_HOST: '0.0.0.0',
    });
    expect(await hub.ended).toBe(2);
    expect(hub.printed.join('\n')).toMatch(
      /WORKBENCH_HUB_SERVER_HOST: server\.host: found "0\.0\.0\.0".*allowInsecure/,
    );
  });
});
