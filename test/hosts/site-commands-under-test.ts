/** A small workload manager in the shell, by the site's own commands, for the suite of drivers. */
import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { ManagerSettings } from '@workbench-hub/hub/core/hosts/host-recipe';
import { temporaryFolder } from '../support/temporary-folder.js';
import { processManagerFaults } from './process-manager-faults.js';
import type { WorkloadManagerUnderTest } from './workload-manager-suite.js';

const MANAGER = fileURLToPath(new URL('fixtures/process-manager.sh', import.meta.url));

/** The workload manager of fixtures/process-manager.sh, whose commands have this beginning. */
export async function siteCommandsUnderTest(via: readonly string[]): Promise<WorkloadManagerUnderTest> {
  const { path: folder, remove } = await temporaryFolder();
  const away = join(folder, 'away');
  const command = (verb: string, option: readonly string[] = []) => ['sh', MANAGER, folder, verb, ...option];
  const manager = (...option: readonly string[]): ManagerSettings => ({
    kind: 'command',
    via,
    submit: command('submit', option),
    list: command('list'),
    cancel: command('cancel'),
    check: command('check', option),
  });
  return {
    folder,
    manager: manager(),
    holding: manager('--hold'),
    refusing: manager('--partition=other'),
    refusal: /there is no partition other/,
    endOfCanceled: 'asked to end',
    isForgotten: false,
    leave: () => writeFile(away, ''),
    comeBack: () => rm(away),
    faults: {
      ...processManagerFaults(folder, manager()),
      stuck: { manager: manager('--stick'), words: /^there is no such image$/ },
    },
    close: remove,
  };
}
