/** `wb instances` and `wb instance`. */
import { api, type Hub, type WorkbenchInstance } from '@workbench-hub/client';
import { Argument, type Command } from 'commander';
import type { Run } from '../command-action.js';
import { type Column, print, table } from '../console.js';
import { EXIT } from '../exit-codes.js';

const COLUMNS: readonly Column<WorkbenchInstance>[] = [
  { title: 'ID', of: ({ id }) => id },
  { title: 'STATUS', of: ({ status }) => status },
  { title: 'VERSION', of: ({ version }) => version },
  { title: 'LABELS', of: ({ labels }) => labels.join(',') },
  { title: 'RUNS', of: ({ runs }) => [...(runs?.models ?? []), ...(runs?.scripts ?? [])].join(',') },
  { title: 'LENT', of: ({ lent }) => lent, isRare: true },
  { title: 'AGENT', of: ({ agentId }) => agentId ?? undefined },
];

export function addInstanceCommands(program: Command, run: Run): void {
  program
    .command('instances')
    .description('list workbench instances')
    .action(
      run(async (hub, output) => {
        const instances = await hub.instances();
        print(instances, output, () => table(instances, COLUMNS));
        return EXIT.FINISHED;
      }),
    );

  const instance = program
    .command('instance')
    .description('start, stop or restart an instance, or print its log');
  const act = (name: string, change: (hub: Hub, id: string) => Promise<unknown>) =>
    instance
      .command(name)
      .argument('<id>')
      .description(`${name} an instance`)
      .action(
        run(async (hub, output, id: string) => {
          await change(hub, id);
          print({ id, action: name }, output, () => `${id}: ${name} requested`);
          return EXIT.FINISHED;
        }),
      );
  act('start', (hub, id) => api.startInstance({ client: hub.client, path: { id } }));
  act('stop', (hub, id) => api.stopInstance({ client: hub.client, path: { id } }));
  act('restart', (hub, id) => api.restartInstance({ client: hub.client, path: { id } }));
  instance
    .command('log')
    .argument('<id>')
    .addArgument(
      new Argument('[type]', 'which log').choices(['console', 'stdout', 'stderr']).default('console'),
    )
    .description('print the log of an instance')
    .action(
      run(async (hub, output, id: string, type: string) => {
        const log = await hub.instanceLog(id, type);
        print({ id, type, log }, output, () => log);
        return EXIT.FINISHED;
      }),
    );
}
