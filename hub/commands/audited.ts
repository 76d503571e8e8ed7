/** Changes by commands are told to the audit log like those by requests, also while the hub does not run. */
import { userInfo } from 'node:os';
import { systemRuntime } from '@workbench-hub/shared/runtime/system-runtime';
import { auditFolderOf } from '../audit/audit-folder.js';
import { appendToAudit } from '../audit/audit-log.js';
import type { HubConfig } from '../config.js';

/** Runs a command that changes something and records it: `command` is what was typed, without any secret. Rejects as
 *  `change` does, having recorded that too. */
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

/** A change that was made stands, whether or not it could be recorded. */
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
  } catch (fault) {
    console.error(`The audit log in ${folder} could not be written: ${(fault as Error).message}`);
  }
}

/** Of the operating system; an id without a name is known by its number. */
function accountName(): string {
  try {
    return userInfo().username;
  } catch {
    return `uid ${process.getuid?.() ?? 'unknown'}`;
  }
}
