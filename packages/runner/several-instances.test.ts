/** One runner that serves several instances, whose jobs run at the same time. */
import { startSharedProgram } from '@workbench-hub/shared/instance-protocol/program-under-test';
import { afterEach, describe, expect, it } from 'vitest';
import { cleanUpAfterEachTest, gone, layOut, RUNNER } from './fixtures/runner-under-test.js';

cleanUpAfterEachTest();

const IDS = ['sim-1', 'sim-2', 'sim-3'];
/** Script that writes down the ids of its processes, one of which has a group of its own, and waits. */
const LASTING = '#!/bin/sh\nset -m\nsleep 1000 &\necho "$$ $!" > pids\necho ready\nwait';
let runner: Awaited<ReturnType<typeof startSharedProgram>>;

afterEach(async () => {
  await runner.signal('SIGKILL');
});

async function startLasting() {
  runner = await startSharedProgram([process.execPath, RUNNER], IDS);
  const jobs = await Promise.all(
    IDS.map(async (instanceId) => {
      const folder = await layOut({ scripts: [LASTING] });
      const ended = runner.host.executeBatchJob({ ...folder.params, instanceId });
      ended.catch(() => undefined);
      return { instanceId, folder, ended };
    }),
  );
  await expect.poll(() => runner.printed('stdout')).toBe('ready\n'.repeat(IDS.length));
  return Promise.all(
    jobs.map(async (job) => ({ ...job, pids: (await job.folder.read('pids')).split(' ').map(Number) })),
  );
}

describe.skipIf(process.platform !== 'linux')('a runner with several instances', () => {
  it('ends the scripts of all of them when it is killed', async () => {
    const jobs = await startLasting();
    await runner.signal('SIGKILL');
    for (const { pids } of jobs) for (const pid of pids) await gone(pid);
  });

  it('ends the script of a stopped instance, and of no other; the guard still knows the others', async () => {
    const [first, second, third] = await startLasting();
    await runner.host.stopInstance('sim-2');
    await expect(second?.ended).rejects.toThrow('canceled');
    for (const pid of second?.pids ?? []) await gone(pid);
    for (const pid of [...(first?.pids ?? []), ...(third?.pids ?? [])]) process.kill(pid, 0);
    await runner.host.startInstance({ id: 'sim-2', version: '1', revision: '', labels: [] });
    const folder = await layOut({ scripts: ['#!/bin/sh\necho "$$" > pids\necho again\nsleep 1000'] });
    runner.host.executeBatchJob({ ...folder.params, instanceId: 'sim-2' }).catch(() => undefined);
    await runner.prints('again');
    await runner.signal('SIGKILL');
    const left = [...(first?.pids ?? []), ...(third?.pids ?? []), Number(await folder.read('pids'))];
    for (const pid of left) await gone(pid);
  });
});
