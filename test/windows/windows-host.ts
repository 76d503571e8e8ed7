/** A hub on Linux, and Windows (Wine) with the agent as one file. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect } from 'vitest';
import { base64, restClient } from '../support/interface/rest-client.js';
import {
  endPrograms,
  type HubProgram,
  type Program,
  startCommand,
  startHub,
} from '../support/programs/programs.js';
import { type TemporaryFolder, temporaryFolder } from '../support/temporary-folder.js';

interface Wine {
  readonly system: string;
  readonly windows: string;
}

const { wineSession } = (await import(new URL('../../deploy/windows/wine.mjs', import.meta.url).href)) as {
  wineSession(wine: Wine, script: string, folders: readonly string[]): string[];
};

/** Environment of these tests, from deploy/test-windows.mjs. */
const { wine, agent, kills } = JSON.parse(process.env['WINDOWS_HOST'] ?? '') as {
  readonly wine: Wine;
  /** Path of the single file. */
  readonly agent: string;
  /** Number of times that an agent is killed. */
  readonly kills: number;
};

export { agent, kills };

const ID = 'windows-host';

/** Starts a hub for each test of a file, with these keys for a folder; Windows ends with the test. */
export function windowsHost(keysIn: (folder: string) => Promise<object> = () => Promise.resolve({})) {
  let site: TemporaryFolder;
  let hub: HubProgram;
  let sessions: Program[];
  beforeEach(async () => {
    site = await temporaryFolder();
    // A job is run again after each kill, which is a loss to the hub, or an attempt where the agent told of its end.
    const tasks = { maxAttempts: kills + 1, maxLosses: kills + 1 };
    hub = await startHub(site.path, { tasks, ...(await keysIn(site.path)) });
    sessions = [];
  });
  afterEach(async () => {
    // Nothing of Windows outlives the first process of a session.
    await Promise.all(sessions.map((session) => session.kill()));
    await endPrograms();
    await site.remove();
  });

  const client = () => restClient(hub.baseUrl);
  const session = (script: string, folders: readonly string[] = []): Program => {
    const commands = `cd ${site.path} || exit 1
agent() { wine ${agent} "$@"; }
${script}`;
    const started = startCommand(
      wineSession(wine, commands, [site.path, join(agent, '..'), ...folders]),
      site.path,
    );
    sessions.push(started);
    return started;
  };
  return {
    /** Folder of the agent. */
    get folder() {
      return site.path;
    },
    client,
    /** Address of the hub. */
    get address() {
      return hub.baseUrl;
    },

    /** Writes the configuration of the agent. Its folders lie on drive Z:, which is the root of Linux. */
    configure(keys: object = {}): void {
      const config = {
        id: ID,
        hub: hub.baseUrl.replace('http', 'ws'),
        tokenFile: hub.tokenFile,
        dataDir: 'data',
        instances: [
          { id: 'node', version: '1', labels: ['node'] },
          {
            id: 'batch',
            version: '1',
            labels: ['batch'],
            command: ['workbench-runner', '--interpreter', 'cmd /d /c'],
          },
        ],
        ...keys,
      };
      writeFileSync(join(site.path, 'agent.yaml'), JSON.stringify(config));
    },

    /** Runs a script of sh in which `agent` is the agent and `folders` are visible, too; its output is in a file. */
    session,
    startAgent: () => session('agent --config agent.yaml >> agent.log 2>&1'),
    agentLog: (name = 'agent.log') => readFileSync(join(site.path, name), 'utf8'),

    async ready(): Promise<void> {
      await expect
        .poll(async () => (await client().instances()).map(({ status }) => status), { timeout: 60_000 })
        .toEqual(['UP', 'UP']);
    },

    createJob(label: string, script: string, keys: object = {}): Promise<string> {
      return client().createBatchJob({
        classifiers: [{ type: 'LABLES', value: label }],
        inputScripts: [{ content: base64(script) }],
        ...keys,
      });
    },
  };
}
