/** A real solver, started by the runner as packages/docs/calculix.md describes, against a run without it. */
import { execFileSync, spawnSync } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import {
  type JobFolder,
  layOutJob,
  type ProgramUnderTest,
  startProgram,
} from '@workbench-hub/shared/instance-protocol/program-under-test';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

const RUNNER = fileURLToPath(new URL('bin/workbench-runner.js', import.meta.url));
const SOLVER = 'ccx';
const isMissing = spawnSync(SOLVER, ['-v']).error !== undefined;
const title = isMissing
  ? 'CalculiX: SKIPPED, ccx is not installed (apt-get install calculix-ccx)'
  : 'CalculiX, started by the runner';

const example = (name: string) => readFile(new URL(`../docs/examples/${name}`, import.meta.url), 'utf8');
/** Lines with the time and the author of the file. */
const withoutDates = (text: string) => text.replaceAll(/^ +1U(?:DATE|TIME|USER|HOST).*$/gm, '');

describe.skipIf(isMissing)(title, () => {
  let runner: ProgramUnderTest;
  let job: JobFolder;
  let direct: JobFolder;

  beforeAll(async () => {
    const model = { name: 'model.inp', content: await example('beam.inp') };
    runner = await startProgram([process.execPath, RUNNER, '--interpreter', 'sh']);
    job = await layOutJob({ model, scripts: [await example('calculix.sh')] });
    expect(await runner.host.executeBatchJob(job.params)).toEqual({ status: 'OK' });
    direct = await layOutJob({ files: { 'beam.inp': model.content }, scripts: [''] });
    execFileSync(SOLVER, ['beam'], {
      cwd: direct.params.workingDirectory,
      env: { ...process.env, OMP_NUM_THREADS: '1' },
    });
  });
  afterAll(async () => {
    await job?.remove();
    await direct?.remove();
    await runner?.shutdown();
  });

  it('leaves the same result files as a run without the runner', async () => {
    const results = (await direct.names()).filter((name) => name !== 'beam.inp');
    expect(await job.names()).toEqual([...results, 'model.inp'].sort());
    for (const name of results) {
      expect(withoutDates(await job.read(name)), name).toBe(withoutDates(await direct.read(name)));
    }
  });

  it('bends the beam as in theory, within 1 %', async () => {
    const [force, length, modulus, poisson, side] = [100, 200, 210_000, 0.3, 10];
    const inertia = side ** 4 / 12;
    const shearModulus = modulus / (2 * (1 + poisson));
    const bending = (force * length ** 3) / (3 * modulus * inertia);
    const shear = (force * length) / ((5 / 6) * shearModulus * side ** 2);
    const tip = Number((await job.read('beam.dat')).trim().split(/\s+/).at(-1));
    expect(Math.abs(-tip / (bending + shear) - 1)).toBeLessThan(0.01);
  });

  it("has the solver's output in the log", () => {
    expect(runner.printed()).toMatch(/CalculiX Version.*Job finished.*tip displacement \[mm\]:/s);
  });
});
