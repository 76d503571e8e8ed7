/** `workbench-agent --check-config` beyond the file: checks whether this host meets the requirements of the configuration. */
import { mkdtempSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { systemRuntime } from '@workbench-hub/shared/runtime/system-runtime';
import type { AgentConfig } from '../config.js';
import { inheritedEnvironment } from '../core/job-environment.js';
import { prepareDirectory } from '../disk/prepared-directory.js';
import { findControlGroups } from '../process/this-platform.js';
import { trySandboxes } from '../sandbox-checks.js';

export interface HostCheck {
  /** Reasons why a start would be refused, in sentences. */
  readonly faults: readonly string[];
  /** Remarks for the operator, in sentences. */
  readonly notes: readonly string[];
}

/** Tests everything for real, in a temporary folder. */
export async function checkHost(
  config: AgentConfig,
  configFile: string | null,
  environment: Readonly<Record<string, string | undefined>>,
): Promise<HostCheck> {
  const { folder, remove } = temporaryFolder(resolve(config.dataDir));
  try {
    const tried = await trySandboxes(config, {
      environment: inheritedEnvironment(environment),
      configFile,
      prepareDirectory: () => prepareDirectory(folder),
    });
    const found = await findControlGroups(systemRuntime.newId(), systemRuntime);
    const notes = tried.working.map((id) => `The sandbox of ${id} works here.`);
    if ('unavailable' in found) notes.push(`Without control groups: ${found.unavailable}.`);
    else {
      notes.push(`Each instance program gets a control group of its own, as in ${found.groups.path}.`);
      await found.groups.close();
    }
    return { faults: tried.faults, notes };
  } finally {
    await remove();
  }
}

/** Prefers the folder of working directories, which may be one that only its owner may enter. */
function temporaryFolder(dataDir: string): { folder: string; remove: () => Promise<void> } {
  for (const parent of [join(dataDir, 'work'), tmpdir()]) {
    try {
      const folder = mkdtempSync(join(parent, 'check-'));
      return { folder, remove: () => rm(folder, { recursive: true, force: true }) };
    } catch {
      // Missing, or another user's: try the next one.
    }
  }
  throw new Error(`no folder for temporary files can be written: ${tmpdir()}`);
}
