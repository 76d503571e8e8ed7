/** `workbench-hub webhook …`: the secrets of receivers of webhooks. */
import { StartRefused } from '@workbench-hub/shared/runtime/run-program';
import type { Command } from 'commander';
import { ADDRESS_ALLOWED, webhookAddress } from '../core/webhook-addresses.js';
import { webhookKeys } from '../security/webhook-keys.js';
import { receiverSecret } from '../webhooks/signature.js';
import { audited } from './audited.js';
import { refuseUnknownCommands, withConfig } from './command.js';

/** Adds `webhook secret` to the program. */
export function webhookCommands(program: Command, environment: NodeJS.ProcessEnv): void {
  const group = program.command('webhook').description('Secrets by which receivers verify webhooks.');
  group
    .command('secret <address>')
    .description(
      'Prints the secret for the server of this address, by which it verifies the signatures of webhooks.',
    )
    .action((address: string) =>
      withConfig(program, environment, async (config) => {
        const url = webhookAddress(address);
        if (!url) {
          throw new StartRefused(`found ${JSON.stringify(address)}, allowed: ${ADDRESS_ALLOWED}`);
        }
        const [newest] = await audited(config, `webhook secret ${url.origin}`, () =>
          webhookKeys(config.dataDir),
        );
        console.log(receiverSecret(newest as Buffer, url.origin));
      }),
    );
  refuseUnknownCommands(group);
}
