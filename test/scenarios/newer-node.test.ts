/** Agents, runner and MuJoCo on Node.js 24, with a hub on the machine's own Node.js: hosts are upgraded one by one. */
import { writeFileSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { base64, outputsOf, restClient } from '../support/interface/rest-client.js';
import { newerNode } from '../support/programs/newer-node.js';
import { endPrograms, startAgent, startHub, startProgram } from '../support/programs/programs.js';
import { type TemporaryFolder, temporaryFolder } from '../support/temporary-folder.js';

const PENDULUM = `<mujoco><worldbody><body><joint type="hinge" axis="0 1 0"/><geom size="0.05" pos="0 0 -1"/></body>
  </worldbody></mujoco>`;

const node = await newerNode();

let folder: TemporaryFolder;
beforeEach(async () => {
  folder = await temporaryFolder();
});
afterEach(async () => {
  await endPrograms();
  await folder.remove();
});

describe.skipIf(node === undefined)('on Node.js 24', () => {
  const newer = {
    node: node ?? '',
    env: { PATH: [dirname(node ?? ''), process.env['PATH']].join(delimiter) },
  };

  it('an agent runs batch jobs, simulated work and MuJoCo', async () => {
    const hub = await startHub(folder.path);
    const client = restClient(hub.baseUrl);
    const instances = [
      { id: 'run', version: '1' },
      { id: 'mujoco', version: '3', command: ['workbench-mujoco'] },
    ];
    startAgent(folder.path, hub, 'host', { instances }, newer);
    const run = async (version: string, script: string, job: object = {}) => {
      const id = await client.createBatchJob({
        classifiers: [{ type: 'VERSION', value: version }],
        inputScripts: [{ content: base64(script) }],
        ...job,
      });
      return client.batchJobResult(id);
    };

    const plain = await run('1', `require('node:fs').writeFileSync('version.txt', process.version);`);
    expect(outputsOf(plain)).toEqual({ 'version.txt': expect.stringMatching(/^v24[.]/) });
    const simulated = await run(
      '3',
      'while (data.time < 0.1) mujoco.mj_step(model, data); println(process.version);',
      {
        inputModel: { type: 'MJCF', content: base64(PENDULUM) },
      },
    );
    expect(simulated).toMatchObject({ status: 'FINISHED' });
    expect(await client.log(String(simulated.id))).toMatch(/^v24[.]/);
  });

  it('a hub whose SQLite add-on was built for another Node.js reports how to rebuild it', async () => {
    const file = join(folder.path, 'hub.yaml');
    writeFileSync(file, JSON.stringify({ server: { port: 0 }, dataDir: join(folder.path, 'hub') }));
    const hub = startProgram('hub/bin/workbench-hub.js', ['--config', file], folder.path, newer.env, {
      node: newer.node,
    });
    expect(await hub.ended).toBe(2);
    const said = [...hub.lines.map(({ msg }) => msg), ...hub.printed].join(' ');
    expect(said).toContain('npm rebuild better-sqlite3');
    expect(said).toMatch(/another Node.js than this one, v24[.]/);
  });
});
