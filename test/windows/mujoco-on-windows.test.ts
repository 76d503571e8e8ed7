/** The MuJoCo workbench inside the one file, on Windows (Wine). */
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { base64, outputsOf } from '../support/interface/rest-client.js';
import { windowsHost } from './windows-host.js';

const FALLING =
  '<mujoco><worldbody><body pos="0 0 1"><freejoint/><geom size=".1"/></body></worldbody></mujoco>';
/** Fraction of a meter that the body falls in a tenth of a second, which is 9.81 / 200. */
const FALL = /^0\.0(?:49|50)/;

const host = windowsHost();
const { client, configure, startAgent, ready, createJob } = host;

it('simulates in a realm, and in a thread with Node.js', async () => {
  configure({
    instances: [{ id: 'mujoco', version: '1', labels: ['mujoco'], command: ['workbench-mujoco'], count: 2 }],
  });
  startAgent();
  await ready();
  const fall = 'while (data.time < 0.1) mujoco.mj_step(model, data);\nconst fallen = 1 - data.qpos[2];\n';
  const scripts = [
    `${fall}writeFile('fall.txt', String(fallen));`,
    `${fall}require('node:fs').writeFileSync('fall.txt', String(fallen));
require('node:child_process').execFileSync(process.execPath, ['--version']);`,
  ];
  for (const script of scripts) {
    const id = await createJob('mujoco', script, { inputModel: { type: 'MJCF', content: base64(FALLING) } });
    const result = await client().batchJobResult(id);
    expect(result, await client().log(id)).toMatchObject({ batchExecutionStatus: 'OK' });
    expect(outputsOf(result)).toEqual({ 'fall.txt': expect.stringMatching(FALL) });
  }
  expect(readdirSync(join(host.folder, 'data/programs'))).toHaveLength(1);
});
