/** `workbench-hub upstream …`: the hubs that this hub joins as an agent. */
import { StartRefused } from '@workbench-hub/shared/runtime/run-program';
import type { Command } from 'commander';
import type { HubConfig } from '../config.js';
import {
  credentialFileOf,
  type UpstreamConfig,
  upstreamAddresses,
  upstreamName,
} from '../upstream-config.js';
import { audited } from './audited.js';
import { refuseUnknownCommands, withConfig } from './command.js';

/** Adds `upstream enroll` to the program. */
export function upstreamCommands(program: Command, environment: NodeJS.ProcessEnv): void {
  const group = program.command('upstream').description('Hubs that this hub joins, to lend them instances.');
  group
    .command('enroll <name>')
    .description(
      'Fetches the credential of this hub at an upstream, for a code that "agent enroll" has printed there.',
    )
    .action((name: string) =>
      withConfig(program, environment, (config) =>
        audited(config, `upstream enroll ${name}`, () => enrollAt(name, config)),
      ),
    );
  refuseUnknownCommands(group);
}

async function enrollAt(name: string, config: HubConfig): Promise<void> {
  const upstream = upstreamOf(name, config);
  const { id: agentId, tls, token, tokenFile } = upstream;
  const file = credentialFileOf(config, upstream);
  // Loaded only when wanted: the HTTP client of the link costs time.
  const { enroll } = await import('@workbench-hub/shared/hub-link/enroll');
  await enroll({ addresses: upstreamAddresses(upstream), agentId, tls, file });
  console.log(`This hub is enrolled at ${name} as ${agentId}; its credential is kept in ${file}.`);
  const setting = token !== null ? 'token' : tokenFile !== null ? 'tokenFile' : undefined;
  if (setting !== undefined)
    console.error(
      `Now remove "${setting}" of this upstream from the configuration: while set, it takes precedence.`,
    );
  if (config.store !== 'sqlite')
    console.error(
      'Other hubs on the same database need the same file: copy it to the same place in their dataDir.',
    );
}

function upstreamOf(name: string, { upstreams }: HubConfig): UpstreamConfig {
  const found = upstreams.find((upstream) => upstreamName(upstream) === name);
  if (found) return found;
  const names = upstreams.map(upstreamName).join(', ');
  throw new StartRefused(
    `there is no upstream ${JSON.stringify(name)}; the configuration has ${names === '' ? 'none: add one to "upstreams"' : names}`,
  );
}
