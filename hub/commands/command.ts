/** Common parts of the commands. */
import { EXIT, StartRefused } from '@workbench-hub/shared/runtime/run-program';
import type { Command } from 'commander';
import { type HubConfig, loadHubConfig } from '../config.js';
import { HubError } from '../core/errors.js';
import { AccountRefused } from '../engine/accounts/users.js';

/** Runs `action` with the configuration of `--config`, whose faults are refused. See {@link refusing}. */
export async function withConfig(
  program: Command,
  environment: Readonly<Record<string, string | undefined>>,
  action: (config: HubConfig) => void | Promise<void>,
): Promise<void> {
  await refusing(async () => {
    const { config: file } = program.opts<{ config?: string }>();
    const loaded = loadHubConfig(file ?? null, environment);
    if ('faults' in loaded) throw new StartRefused(loaded.faults.join('\n'));
    await action(loaded.config);
  });
}

/** Runs `action`; a refusal becomes its message and exit code 2. */
export async function refusing(action: () => Promise<void>): Promise<void> {
  try {
    await action();
  } catch (error) {
    if (!REFUSALS.some((refusal) => error instanceof refusal)) throw error;
    console.error((error as Error).message);
    process.exitCode = EXIT.REFUSED;
  }
}

/** Errors that the operator can correct. */
const REFUSALS = [StartRefused, AccountRefused, HubError];

/** Prints a table with aligned columns. */
export function printTable(rows: readonly (readonly string[])[]): void {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  for (const row of rows) {
    console.log(
      row
        .map((text, column) => text.padEnd(widths[column] ?? 0))
        .join('  ')
        .trimEnd(),
    );
  }
}
