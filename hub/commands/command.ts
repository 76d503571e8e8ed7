/** Common parts of the commands. */
import { EXIT, failureInWords, StartRefused } from '@workbench-hub/shared/runtime/run-program';
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
    const isRefusal = REFUSALS.some((refusal) => error instanceof refusal);
    const words = isRefusal ? (error as Error).message : failureInWords(error);
    if (words === undefined) throw error;
    console.error(words);
    process.exitCode = EXIT.REFUSED;
  }
}

/** Errors that the operator can correct. */
const REFUSALS = [AccountRefused, HubError];

/** Makes a group refuse an unknown command, or none, and name those that there are. To be called when it has its commands,
 *  which would inherit the permission of further arguments. */
export function refuseUnknownCommands(group: Command): void {
  group.allowExcessArguments().action(() => refuseCommand(group));
}

/** Refuses the first argument of a program or group, which is none of its commands. */
export function refuseCommand(group: Command, without = ''): void {
  const [unknown] = group.args;
  const names = group.commands.map((each) => each.name()).join(', ');
  const what = unknown === undefined ? 'a command is missing' : `unknown command ${JSON.stringify(unknown)}`;
  console.error(`${what}: the commands of ${group.name()} are ${names}${without}`);
  process.exitCode = EXIT.REFUSED;
}

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
