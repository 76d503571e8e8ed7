/** Logs that cannot be written lose lines, but neither delay a program nor keep it from stopping. */
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { base64, restClient } from '../support/interface/rest-client.js';
import { endPrograms, startAgent, startHub, startProgram } from '../support/programs/programs.js';
import { type TemporaryFolder, temporaryFolder } from '../support/temporary-folder.js';

let folder: TemporaryFolder;

beforeEach(async () => {
  folder = await temporaryFolder();
});

afterEach(async () => {
  await endPrograms();
  await folder.remove();
});

describe('hub and agent', () => {
  it('work and stop although the disk of their log files is full', async () => {
    const log = { level: 'debug', file: '/dev/full' };
    const hub = await startHub(folder.path, { log: { ...log, rotate: {} } });
    const agent = startAgent(folder.path, hub, 'host', { log, instances: [{ id: 'sim', version: '1' }] });
    const client = restClient(hub.baseUrl);
    const id = await client.createBatchJob({ inputScripts: [{ content: base64('println("done")') }] });
    expect((await client.batchJobResult(id)).status).toBe('FINISHED');
    expect(await agent.stop()).toBe(0);
    expect(await hub.stop()).toBe(0);
  });

  it('work and stop although their standard output is closed', async () => {
    const hub = await startHub(folder.path, { log: { level: 'debug' } });
    hub.process.stdout?.destroy();
    const agent = startAgent(folder.path, hub, 'host', { instances: [{ id: 'sim', version: '1' }] });
    const client = restClient(hub.baseUrl);
    const id = await client.createBatchJob({ inputScripts: [{ content: base64('println("done")') }] });
    expect((await client.batchJobResult(id)).status).toBe('FINISHED');
    agent.process.stdout?.destroy();
    expect(await agent.stop()).toBe(0);
    expect(await hub.stop()).toBe(0);
  });

  it.each(['hub/bin/workbench-hub.js', 'agent/bin/workbench-agent.js'])(
    '%s is refused with a message where its log or its data cannot be written',
    async (script) => {
      const env = {
        WORKBENCH_HUB_DATA_DIR: '/dev/null/data',
        WORKBENCH_AGENT_DATA_DIR: '/dev/null/data',
        WORKBENCH_AGENT_TOKEN: 'x',
      };
      const noLog = startProgram(script, [], folder.path, env);
      expect(await noLog.ended).toBe(2);
      expect(noLog.printed.join('\n')).toMatch(
        /^the log file \/dev\/null\/data\/logs\/\w+\.log cannot be written/,
      );
      const file = join(folder.path, 'log');
      const noData = startProgram(script, [], folder.path, {
        ...env,
        WORKBENCH_HUB_LOG_FILE: file,
        WORKBENCH_AGENT_LOG_FILE: file,
      });
      expect(await noData.ended).toBe(2);
      expect(noData.lines.at(-1)).toMatchObject({ level: 60, msg: expect.stringMatching(/correct dataDir/) });
    },
  );
});
