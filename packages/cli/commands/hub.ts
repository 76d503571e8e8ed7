/** `wb events`, `wb health`, `wb open`. */
import { spawn } from 'node:child_process';
import type { TaskFilter } from '@workbench-hub/client';
import type { Command } from 'commander';
import type { Run } from '../command-action.js';
import { print, printable } from '../console.js';
import { EXIT } from '../exit-codes.js';
import { collect } from '../job-options.js';

export function addHubCommands(program: Command, run: Run): void {
  program
    .command('events')
    .description('print each change of tasks as it happens')
    .option('--status <status>', 'tasks of this status', collect, [])
    .option('--name <pattern>', 'name, with the wildcards * and ?')
    .option('--since <cursor>', 'continue at this cursor')
    .action(
      run(async (hub, output, options: { status: string[]; name?: string; since?: string }) => {
        const { status, name, since } = options;
        const filter = {
          ...(status.length === 0 ? {} : { status }),
          ...(name === undefined ? {} : { name }),
        } as TaskFilter;
        for await (const event of hub.events({ filter, ...(since === undefined ? {} : { since }) })) {
          print(event, output, () =>
            event.type === 'task'
              ? `${event.task.id} ${event.task.status} ${printable(event.task.name ?? '')}`.trimEnd()
              : event.type === 'removed'
                ? `${event.id} ${event.deleted ? 'deleted' : 'no longer matches'}`
                : '',
          );
        }
        return EXIT.FINISHED;
      }),
    );

  program
    .command('health')
    .description('say whether the hub is well; the exit code is 1 when it is not')
    .action(
      run(async (hub, output) => {
        const health = await hub.health();
        const { totalInstances, runningInstances } = health.components.nodes.details;
        print(
          health,
          output,
          () => `${health.status}, ${runningInstances} of ${totalInstances} instances are up`,
        );
        return health.status === 'UP' ? EXIT.FINISHED : EXIT.FAILED;
      }),
    );

  program
    .command('open')
    .description('open the documentation of the hub in a browser')
    .action(
      run(async (hub, output) => {
        const url = `${hub.url}/docs`;
        const opener =
          process.platform === 'darwin' ? 'open' : process.platform === 'win32' ? 'explorer' : 'xdg-open';
        spawn(opener, [url], { stdio: 'ignore', detached: true })
          .once('error', () => undefined)
          .unref();
        print({ url }, output, () => url);
        return EXIT.FINISHED;
      }),
    );
}
