/** Simulates points of the study in a loop, without any service around it. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import loadMujoco from '@mujoco/mujoco';
import { angleAt, MODEL, STEPS } from './point.js';

/** Points to simulate, without the last one. */
export interface ToBareLoop {
  readonly from: number;
  readonly to: number;
}

export interface FromBareLoop {
  readonly cpuS: number;
  readonly numbers: readonly string[];
}

const mujoco = await loadMujoco();
const folder = mkdtempSync(join(tmpdir(), 'bench-study-'));
process.once('exit', () => rmSync(folder, { recursive: true, force: true }));
process.once('disconnect', () => process.exit());

process.on('message', ({ from, to }: ToBareLoop) => {
  const before = process.cpuUsage();
  const numbers: string[] = [];
  for (let point = from; point < to; point++) numbers.push(simulate(point));
  const { user, system } = process.cpuUsage(before);
  process.send?.({ cpuS: (user + system) / 1e6, numbers } satisfies FromBareLoop);
});

function simulate(point: number): string {
  const model = mujoco.MjModel.from_xml_string(MODEL);
  const data = new mujoco.MjData(model);
  try {
    data.qpos[0] = Number(angleAt(point));
    for (let step = 0; step < STEPS; step++) mujoco.mj_step(model, data);
    const number = String(data.qpos[0]);
    writeFileSync(join(folder, 'angle.txt'), number);
    return number;
  } finally {
    data.delete();
    model.delete();
  }
}
