/** What the commands beside the hub itself have in common. */
import { StartRefused } from '@workbench-hub/shared/runtime/run-program';
import type { Command } from 'commander';
import { type HubConfig, loadHubConfig } from '../config.js';

/** Runs `action` with the configuration that `--config` of the program names; a {@link StartRefused} from it becomes its
 *  message and exit code 2, as do faults of the configuration. */
export async function withConfig(
  program: Command,
  environment: Readonly<Record<string, string | undefined>>,
  action: (config: HubConfig) => void | Promise<void>,
): Promise<void> {
  try {
    const { config: file } = program.opts<{ config?: string }>();
    const loaded = loadHubConfig(file ?? null, environment);
    if ('faults' in loaded) throw new StartRefused(loaded.faults.join('\n'));
    await action(loaded.config);
  } catch (error) {
    if (!(error instanceof StartRefused)) throw error;
    console.error(error.message);
    process.exitCode = 2;
  }
}

/** Columns side by side, under their heads. */
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
