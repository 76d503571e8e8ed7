/** `wb events`, `wb health`, `wb upstreams`, `wb open`. */
import { spawn } from 'node:child_process';
import { api, type Hub, type HubEvent } from '@workbench-hub/client';
import type { Command } from 'commander';
import type { Run } from '../command-action.js';
import { type Column, type Output, print, printable, table, tell } from '../console.js';
import { EXIT, type ExitCode } from '../exit-codes.js';
import { type FilterOptions, filterOf, withFilterOptions } from '../task-filter.js';
import { localTime } from '../times.js';

const MAX_UPSTREAMS = 500;

const UPSTREAMS: readonly Column<api.UpstreamState>[] = [
  { title: 'NAME', of: ({ name }) => name },
  { title: 'STATUS', of: ({ status }) => status },
  { title: 'JOINED', of: ({ joinedAt }) => localTime(joinedAt) },
  { title: 'AS', of: ({ agentId }) => agentId },
  { title: 'OFFERED', of: ({ instances }) => instances.OFFERED },
  { title: 'IN USE', of: ({ instances }) => instances.IN_USE },
  { title: 'KEPT', of: ({ instances }) => instances.KEPT },
  { title: 'LOANS', of: ({ loans }) => loans },
  { title: 'MESSAGE', of: ({ message }) => message, isRare: true },
];

export function addHubCommands(program: Command, run: Run): void {
  withFilterOptions(program.command('events'))
    .description('print each change of tasks as it happens')
    .option('--since <cursor>', 'continue at this cursor')
    .action(run(printEvents));

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
    .command('upstreams')
    .description('list the hubs to which this one lends instances')
    .action(
      run(async (hub, output) => {
        const query = { size: MAX_UPSTREAMS };
        const { data } = await api.listUpstreams({ client: hub.client, query, throwOnError: true });
        print(data.content, output, () => table(data.content, UPSTREAMS));
        return EXIT.FINISHED;
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

/** Prints changes until Ctrl-C, and says then where to continue. */
async function printEvents(
  hub: Hub,
  output: Output,
  options: FilterOptions & { readonly since?: string },
): Promise<ExitCode> {
  const { since } = options;
  const leave = new AbortController();
  const onInterrupt = () => leave.abort();
  process.once('SIGINT', onInterrupt).once('SIGTERM', onInterrupt);
  let cursor = since;
  const onCursor = (reached: string) => {
    cursor = reached;
  };
  const place = since === undefined ? {} : { since };
  const filter = await filterOf(hub, options);
  try {
    for await (const event of hub.events({ filter, onCursor, signal: leave.signal, ...place })) {
      print(event, output, () => eventInWords(event));
      cursor = event.cursor;
      if (event.type === 'reset')
        tell('[some changes cannot be told: list the tasks with wb tasks; later ones follow]');
    }
    return EXIT.FINISHED;
  } catch (error) {
    if (!leave.signal.aborted) throw error;
    if (cursor !== undefined) tell(`\nContinue with: wb events --since ${cursor}`);
    return EXIT.INTERRUPTED;
  } finally {
    process.off('SIGINT', onInterrupt).off('SIGTERM', onInterrupt);
  }
}

function eventInWords(event: HubEvent): string {
  if (event.type === 'task')
    return `${event.task.id} ${event.task.status} ${printable(event.task.name ?? '')}`.trimEnd();
  if (event.type === 'removed') return `${event.id} ${event.deleted ? 'deleted' : 'no longer matches'}`;
  return '';
}
