/** The job of the quickstart, run by the real program and compared with the theory of the slider-crank mechanism. */
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import {
  type JobFolder,
  layOutJob,
  type ProgramUnderTest,
  startProgram,
} from '@workbench-hub/shared/instance-protocol/program-under-test';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

const MUJOCO = fileURLToPath(new URL('bin/workbench-mujoco.js', import.meta.url));
const CRANK_RADIUS_M = 0.043;
const ROD_LENGTH_M = 0.143;

const quickstart = (name: string) =>
  readFile(new URL(`../../deploy/quickstart/${name}`, import.meta.url), 'utf8');

describe('the slider-crank mechanism of the quickstart', () => {
  let mujoco: ProgramUnderTest;
  let folder: JobFolder;
  let motion: Record<string, number>[];
  let energy: Record<string, number>[];

  beforeAll(async () => {
    mujoco = await startProgram([process.execPath, MUJOCO]);
    folder = await layOutJob({
      model: { name: 'model.mjcf', content: await quickstart('slider-crank.xml') },
      variables: { crankSpeedRpm: '1500', simulatedSeconds: '2' },
      scripts: [await quickstart('simulate.js'), await quickstart('report.js')],
    });
    expect(await mujoco.host.executeBatchJob(folder.params)).toEqual({ status: 'OK' });
    motion = readCsv(await folder.read('motion.csv'));
    energy = readCsv(await folder.read('energy-balance.csv'));
  });
  afterAll(async () => {
    await folder.remove();
    await mujoco.shutdown();
  });

  it('reports its progress and leaves the result files', async () => {
    expect(mujoco.printed().match(/^ *\d+ % /gm)).toHaveLength(10);
    expect(await folder.names()).toEqual([
      'energy-balance.csv',
      'model.mjcf',
      'motion.csv',
      'motion.svg',
      'summary.json',
    ]);
    expect(motion).toHaveLength(4001);
    expect(energy).toHaveLength(401);
  });

  it('keeps to x = r cos a + sqrt(l² - r² sin² a) within 1 µm', () => {
    const errors = motion.map(({ crank_angle_deg = 0, piston_position_m = 0 }) => {
      const angle = (crank_angle_deg * Math.PI) / 180;
      const exact =
        CRANK_RADIUS_M * Math.cos(angle) +
        Math.sqrt(ROD_LENGTH_M ** 2 - (CRANK_RADIUS_M * Math.sin(angle)) ** 2);
      return Math.abs(piston_position_m - exact);
    });
    expect(Math.max(...errors)).toBeLessThan(1e-6);
  });

  it('moves the piston as the crank drives it, within 1 mm/s', () => {
    const errors = motion.map(({ crank_angle_deg = 0, crank_speed_rpm = 0, piston_velocity_m_s = 0 }) => {
      const angle = (crank_angle_deg * Math.PI) / 180;
      const offset = CRANK_RADIUS_M * Math.sin(angle);
      const lever =
        offset + (offset * CRANK_RADIUS_M * Math.cos(angle)) / Math.sqrt(ROD_LENGTH_M ** 2 - offset ** 2);
      return Math.abs(piston_velocity_m_s + (crank_speed_rpm * 2 * Math.PI * lever) / 60);
    });
    expect(Math.max(...errors)).toBeLessThan(1e-3);
  });

  it('reaches the speed that was asked for, and keeps it within 1 %', () => {
    const speeds = motion
      .filter(({ time_s = 0 }) => time_s > 1)
      .map(({ crank_speed_rpm = 0 }) => crank_speed_rpm);
    expect(Math.min(...speeds)).toBeGreaterThan(1485);
    expect(Math.max(...speeds)).toBeLessThan(1515);
  });

  it('loses no energy: the balance closes within a millionth of the work put in', () => {
    const worst = Math.max(...energy.map(({ residual_J = Number.NaN }) => Math.abs(residual_J)));
    const work = energy.at(-1)?.['work_put_in_J'] ?? 0;
    expect(work).toBeGreaterThan(2000);
    expect(worst / work).toBeLessThan(1e-6);
    // The column must follow from the others.
    for (const {
      kinetic_J = 0,
      potential_J = 0,
      work_put_in_J = 0,
      dissipated_J = 0,
      residual_J = 0,
    } of energy) {
      expect(kinetic_J + potential_J + dissipated_J - work_put_in_J).toBeCloseTo(residual_J, 4);
    }
  });

  it('draws a complete picture', async () => {
    const svg = await folder.read('motion.svg');
    expect(svg).toMatch(/^<svg [\s\S]*<\/svg>\n$/);
    expect(svg).not.toMatch(/NaN|undefined|Infinity/);
    for (const label of [
      'time [s]',
      'speed [rpm]',
      'exact kinematics',
      'acceleration [m/s²]',
      'energy [kJ]',
    ]) {
      expect(svg).toContain(label);
    }
  });
});

it('the sweep of the quickstart agrees with the acceleration of theory at each speed', async () => {
  const mujoco = await startProgram([process.execPath, MUJOCO]);
  const folder = await layOutJob({
    model: { name: 'model.mjcf', content: await quickstart('slider-crank.xml') },
    variables: { secondsPerSpeed: '0.5' },
    scripts: [await quickstart('speed-sweep.js')],
  });
  try {
    expect(await mujoco.host.executeBatchJob(folder.params)).toEqual({ status: 'OK' });
    expect(mujoco.printed().match(/^ *\d+ rpm {3}piston acceleration up to/gm)).toHaveLength(30);
    const rows = readCsv(await folder.read('speed-sweep.csv'));
    expect(rows.map(({ speed_rpm }) => speed_rpm)).toEqual(
      Array.from({ length: 30 }, (_, at) => 600 + 100 * at),
    );
    for (const { speed_rpm = 0, reached_rpm = 0, piston_acceleration_m_s2 = 0, theory_m_s2 = 0 } of rows) {
      expect(Math.abs(reached_rpm / speed_rpm - 1), `${speed_rpm} rpm`).toBeLessThan(0.02);
      expect(Math.abs(piston_acceleration_m_s2 / theory_m_s2 - 1), `${speed_rpm} rpm`).toBeLessThan(0.03);
    }
  } finally {
    await folder.remove();
    await mujoco.shutdown();
  }
});

function readCsv(text: string): Record<string, number>[] {
  const [head = '', ...rows] = text.trim().split('\n');
  const columns = head.split(',');
  return rows.map((row) => {
    const values = row.split(',');
    return Object.fromEntries(columns.map((column, index) => [column, Number(values[index])]));
  });
}
