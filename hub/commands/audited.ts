/** Audit of commands, whether or not the hub runs. */
import { systemRuntime } from '@workbench-hub/shared/runtime/system-runtime';
import { auditFolderOf } from '../audit/audit-folder.js';
import { appendToAudit } from '../audit/audit-log.js';
import type { HubConfig } from '../config.js';
import { accountName } from '../system/account-name.js';

/** Runs and records a command that makes a change; `command` is its command line without secrets. Rejects as `change`
 *  does. */
export async function audited<T>(
  config: HubConfig,
  command: string,
  change: () => T | Promise<T>,
): Promise<T> {
  try {
    const changed = await change();
    await record(config, command, null);
    return changed;
  } catch (error) {
    await record(config, command, error as Error);
    throw error;
  }
}

/** A change stands even when it cannot be recorded. */
async function record(config: HubConfig, command: string, error: Error | null): Promise<void> {
  const folder = auditFolderOf(config.dataDir);
  try {
    await appendToAudit(folder, {
      atMs: systemRuntime.clock.nowMs(),
      user: accountName(),
      by: 'COMMAND_LINE',
      address: null,
      action: 'COMMAND',
      resource: `workbench-hub ${command}`,
      outcome: error === null ? 'ALLOWED' : 'FAILED',
      status: null,
      detail: error?.message ?? null,
    });
  } catch (cause) {
    console.error(`The audit log in ${folder} could not be written: ${(cause as Error).message}`);
  }
}
