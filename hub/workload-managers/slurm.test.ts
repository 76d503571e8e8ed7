import { expect, it } from 'vitest';
import { slurm } from './slurm.js';

const ALLOCATION = { folder: '/shared', scratch: null, agentCommand: ['agent'], agentConfigOf: () => ({}) };

it('asks Slurm for whole minutes, and for no signal before the end', async () => {
  const submitted: (readonly string[])[] = [];
  const driver = slurm(
    { kind: 'slurm', via: [], options: ['--partition=long'] },
    { ...ALLOCATION, wallTimeMs: 14_401_000 },
    async (command) => {
      submitted.push(command);
      return { name: 'sbatch', exitCode: 0, stdout: '17\n', stderr: '' };
    },
  );
  expect(await driver.submit({ name: 'gears-1', script: '/shared/gears-1/job.sh' })).toBe('17');
  expect(submitted).toEqual([
    [
      ...['sbatch', '--parsable', '--job-name=gears-1', '--output=/dev/null', '--chdir=/', '--no-requeue'],
      ...['--time=241', '--partition=long'],
    ],
  ]);
});
