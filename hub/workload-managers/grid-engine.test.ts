/** The driver for Grid Engine in a cell with many jobs, with a program in place of qstat. */
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
  const folder = await mkdtemp(join(tmpdir(), 'workbench-test-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  const jobs = Array.from({ length: JOBS }, (_each, at) => job(at + 1)).join('');
  const answer = `<?xml version='1.0'?>\n<job_info>\n  <job_info>\n${jobs}  </job_info>\n</job_info>\n`;
  await writeFile(join(folder, 'answer'), answer);
  const script = `#!/bin/sh\nprintf '%s\\n' "$@" >'${folder}/words'\nexec cat '${folder}/answer'\n`;
  await writeFile(join(folder, 'qstat'), script, { mode: 0o755 });
  const manager = openWorkloadManager({
    ...{ manager: { kind: 'grid-engine', via, options: [] }, allocation: ALLOCATION, runtime: systemRuntime },
    environment: { PATH: `${folder}:${process.env['PATH']}` },
  });
  expect(await manager.jobs([`gears-${JOBS}`, 'belts-1'])).toEqual([
    { name: `gears-${JOBS}`, jobId: String(JOBS), state: 'QUEUED', remainingMs: null, reason: null },
  ]);
  expect(await readFile(join(folder, 'words'), 'utf8')).toBe('-xml\n-r\n-u\n$user\n');
});
