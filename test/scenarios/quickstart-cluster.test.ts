/** `npm run quickstart -- --cluster`, on a clone that is already installed and built. */
import { existsSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { expect, it } from 'vitest';
import { eventually } from '../support/eventually.js';
import { isAlive, pidsIn, run, savedFolders } from '../support/programs/quickstart.js';
import { runCommand } from '../support/programs/run-command.js';

it('kills a hub under a running job with --cluster, and --stop removes everything', {
  timeout: 300_000,
}, async () => {
  const { stdout } = await run('--cluster', '--keep');
  const [, data = ''] = /^Data and logs are in (.+)$/m.exec(stdout) ?? [];
  const pids = pidsIn(stdout);
  try {
    const results = savedFolders(stdout);
    expect(results).toHaveLength(2);
    for (const path of results) await rm(path, { recursive: true });
    // Database, hubs, load balancer, agents, and the hub that is started again.
    expect(new Set(pids).size).toBe(1 + 3 + 1 + 4 + 1);
    const [, entry = ''] = /^Entry: {2}(http:\S+), a load balancer before the three/m.exec(stdout) ?? [];
    const [, killed] = /^ +(hub-\d)(?:, which also .+,)? is killed now: kill -9 \d+$/m.exec(stdout) ?? [];
    const [, holder] =
      /^ +the job runs on mujoco-\d of agent host-\d, which is connected to (hub-\d)$/m.exec(stdout) ?? [];
    const [, next] =
      /^ +host-\d has joined (hub-\d) with the running job, [\d.]+ s after the kill$/m.exec(stdout) ?? [];
    expect(killed).toBe(holder);
    expect(next).toMatch(/^hub-\d$/);
    expect(next).not.toBe(killed);
    expect(stdout).toMatch(/^ +FINISHED on instance mujoco-\d, in attempt 1: it went on without the hub$/m);
    expect(stdout).toMatch(/^ +\d+ bytes {2}speed-sweep\.csv$/m);
    expect(stdout).toContain(`        ${killed} is started again, process `);
    await eventually(async () => {
      const { content } = (await (await fetch(`${entry}/api/x/hubs`)).json()) as {
        content: { status: string; scheduler: boolean }[];
      };
      const isScheduled = content.filter(({ scheduler }) => scheduler).length === 1;
      return isScheduled && content.map(({ status }) => status).join() === 'UP,UP,UP';
    });
    const doctor = await runCommand('hub/bin/workbench-hub.js', ['--config', 'hub-2.yaml', 'doctor'], {
      cwd: data,
    });
    expect(doctor.code, doctor.stdout).toBe(0);
    expect(
      doctor.stdout.match(/^ok {7}hubs: \w{12}, version \S+, at http:\S+: .*last seen \d s ago$/gm),
    ).toHaveLength(3);
    expect(doctor.stdout.match(/: the scheduler in term \d+, /g)).toHaveLength(1);
  } finally {
    expect((await run('--stop', data)).stdout).toContain(`removed ${data}\n`);
  }
  await eventually(() => !pids.some(isAlive));
  expect(existsSync(data)).toBe(false);
});
