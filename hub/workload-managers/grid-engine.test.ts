/** The driver for Grid Engine in a cell with many jobs, and in one whose clock is wrong, with programs in place of its own. */
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemRuntime } from '@workbench-hub/shared/runtime/system-runtime';
import { expect, it, onTestFinished } from 'vitest';
import type { AllocationSettings } from '../core/hosts/host-recipe.js';
import { openWorkloadManager } from './open-workload-manager.js';

/** Treats its words as ssh does. */
const AS_SSH = ['sh', '-c', 'exec sh -c "$*"', 'ssh'];
const JOBS = 5000;
const ALLOCATION: AllocationSettings = {
  ...{ folder: '/shared', scratch: null, agentCommand: ['agent'], wallTimeMs: 60_000 },
  agentConfigOf: () => ({}),
};

/** A folder that is removed after the test, with programs in place of others, by their names. */
async function folderWith(programs: Readonly<Record<string, string>>): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'workbench-test-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  for (const [name, script] of Object.entries(programs))
    await writeFile(join(folder, name), `#!/bin/sh\n${script}\n`, { mode: 0o755 });
  return folder;
}

const managerOf = (folder: string, via: readonly string[]) =>
  openWorkloadManager({
    ...{ manager: { kind: 'grid-engine', via, options: [] }, allocation: ALLOCATION, runtime: systemRuntime },
    environment: { PATH: `${folder}:${process.env['PATH']}` },
  });

/** A waiting job, as long as qstat 8.1.9 prints it with its options. */
const job = (id: number) => `    <job_list state="pending">
      <JB_job_number>${id}</JB_job_number>
      <JAT_prio>0.00000</JAT_prio>
      <JB_name>wb-gears-${id}</JB_name>
      <JB_owner>workbench</JB_owner>
      <state>qw</state>
      <JB_submission_time>2026-11-28T21:51:59</JB_submission_time>
      <queue_name></queue_name>
      <slots>1</slots>
      <full_job_name>wb-gears-${id}</full_job_name>
      <hard_request name="h_rt" resource_contribution="0.000000">1800</hard_request>
      <binding>NONE</binding>
    </job_list>
`;

it.each([
  ['on this machine', []],
  ['on another machine', AS_SSH],
])('finds a job among thousands, and asks for those of its own user only, %s', async (_, via) => {
  const folder = await folderWith({
    qstat: `cd "\${0%/*}"; printf '%s\\n' "$@" >words; exec cat answer`,
  });
  const jobs = Array.from({ length: JOBS }, (_each, at) => job(at + 1)).join('');
  const answer = `<?xml version='1.0'?>\n<job_info>\n  <job_info>\n${jobs}  </job_info>\n</job_info>\n`;
  await writeFile(join(folder, 'answer'), answer);
  expect(await managerOf(folder, via).jobs([`gears-${JOBS}`, 'belts-1'])).toEqual([
    { name: `gears-${JOBS}`, jobId: String(JOBS), state: 'QUEUED', remainingMs: null, reason: null },
  ]);
  expect(await readFile(join(folder, 'words'), 'utf8')).toBe('-xml\n-r\n-u\n$user\n');
});

it.each([
  ['hours ahead', 2_000_000_000],
  ['hours behind', 1_500_000_000],
])('has what is left of a job by the clock of its own machine, which is %s', async (_, nowS) => {
  const startedAt = new Date((nowS - 60) * 1000).toISOString().slice(0, 19);
  const running = job(1)
    .replace('<state>qw</state>', '<state>r</state>')
    .replace(/<JB_submission_time>.*</, `<JAT_start_time>${startedAt}</JAT_start_time><`);
  const folder = await folderWith({
    qstat: `cat <<'END'\n<job_info>${running}</job_info>\nEND`,
    date: `[ "$*" = +%s ] && echo ${nowS}`,
  });
  expect(await managerOf(folder, AS_SSH).jobs(['gears-1'])).toMatchObject([
    { state: 'RUNNING', remainingMs: 1_740_000 },
  ]);
});

it('says whose failure it is that nothing is known', async () => {
  const folder = await folderWith({ qstat: 'echo commlib error >&2; exit 1' });
  await expect(managerOf(folder, []).jobs(['gears-1'])).rejects.toMatchObject({
    fault: 'UNAVAILABLE',
    message: 'qstat ended with exit code 1: commlib error',
  });
});

it('takes a job for canceled whose host has just vanished, and no other that qdel does not end', async () => {
  const complaint = 'root unable to sync state with remote execd for the deletion of job "1"';
  const vanished = await folderWith({ qdel: `echo '${complaint}'; exit 1` });
  await managerOf(vanished, []).cancel('gears-1');
  const away = await folderWith({ qdel: 'echo "error: unable to contact qmaster" >&2; exit 1' });
  await expect(managerOf(away, []).cancel('gears-1')).rejects.toMatchObject({ fault: 'UNAVAILABLE' });
});
