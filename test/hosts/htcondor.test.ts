/** The driver for HTCondor, with commands that stand for those of a real one; `npm run test:condor` has a real one. */
import { chmod, mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe } from 'vitest';
import { temporaryFolder } from '../support/temporary-folder.js';
import { processManagerFaults } from './process-manager-faults.js';
import { describeWorkloadManager, type WorkloadManagerUnderTest } from './workload-manager-suite.js';

const CONDOR = fileURLToPath(new URL('fixtures/condor.sh', import.meta.url));

async function open(): Promise<WorkloadManagerUnderTest> {
  const { path: folder, remove } = await temporaryFolder();
  const away = join(folder, 'away');
  const commands = join(folder, 'bin');
  await mkdir(commands);
  for (const command of ['condor_submit', 'condor_q', 'condor_rm']) {
    const file = join(commands, command);
    await writeFile(file, `#!/bin/sh\nexec sh ${CONDOR} ${folder} ${command} "$@"\n`);
    await chmod(file, 0o755);
  }
  const via = ['env', `PATH=${commands}:${process.env['PATH']}`, 'sh', '-c', 'exec sh -c "$*"', 'ssh'];
  const manager = (...options: readonly string[]) => ({ kind: 'htcondor' as const, via, options });
  return {
    folder,
    manager: manager(),
    holding: manager('hold = true'),
    refusing: manager('accounting_group = other'),
    refusal: /there is no accounting group other/,
    endOfCanceled: 'asked to end',
    isForgotten: false,
    leave: () => writeFile(away, ''),
    comeBack: () => rm(away),
    faults: processManagerFaults(folder, manager(), /would exceed MAX_JOBS_PER_OWNER/),
    close: remove,
  };
}

describe('HTCondor, by commands that stand for its own', () =>
  describeWorkloadManager(open, ['slow', 'quota']));
