/** `workbench-hub keys …`: the keys that sign access tokens. */
import { systemRuntime } from '@workbench-hub/shared/runtime/system-runtime';
import type { Command } from 'commander';
import { rotateSigningKeys } from '../security/signing-keys.js';
import { audited } from './audited.js';
import { refuseUnknownCommands, withConfig } from './command.js';

/** Adds `keys rotate` to the program. */
export function keyCommands(program: Command, environment: NodeJS.ProcessEnv): void {
  const group = program.command('keys').description('The keys that sign access tokens.');
  group
    .command('rotate')
    .description('Creates a new key, with which the running hub signs from now on. Sessions continue.')
    .action(() =>
      withConfig(program, environment, async (config) => {
        const { dataDir, security } = config;
        const lifetimeMs = security.accessTokenLifetime;
        const kid = await audited(config, 'keys rotate', () =>
          rotateSigningKeys({ dataDir, lifetimeMs, clock: systemRuntime.clock }),
        );
        console.log(
          `Access tokens are signed with key ${kid} from now on; those of the former key stay valid until they expire.`,
        );
      }),
    );
  refuseUnknownCommands(group);
}
