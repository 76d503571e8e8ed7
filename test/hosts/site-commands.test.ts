/** The driver for the site's own commands, with a small workload manager in the shell. */
import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { ManagerSettings } from '@workbench-hub/hub/core/hosts/host-recipe';
import { describe } from 'vitest';
import { temporaryFolder } from '../support/temporary-folder.js';
import { processManagerFaults } from './process-manager-faults.js';
import { describeWorkloadManager, type WorkloadManagerUnderTest } from './workload-manager-suite.js';

const MANAGER = fileURLToPath(new URL('fixtures/process-manager.sh', import.meta.url));
/** Treats its words as ssh does. */
const AS_SSH = ['sh', '-c', 'exec sh -c "$*"', 'ssh'];

async function open(via: readonly string[]): Promise<WorkloadManagerUnderTest> {
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

describe("a workload manager by the site's commands", () =>
  describeWorkloadManager(() => open([]), ['slow', 'quota', 'stuck']));

describe("a workload manager by the site's commands on another machine", () =>
  describeWorkloadManager(() => open(AS_SSH), ['slow', 'quota', 'stuck']));
