/** `wb hosts` and `wb host`. */
import { api } from '@workbench-hub/client';
import type { Command } from 'commander';
import type { Run } from '../command-action.js';
import { type Column, print, table } from '../console.js';
import { EXIT } from '../exit-codes.js';
import { localTime } from '../times.js';

const PAGE_SIZE = 500;
/** Allocations that are over, of each recipe, in the table. */
const ENDED_SHOWN = 5;

/** An allocation with its recipe, or a recipe without one. */
interface Row {
  readonly recipe: api.HostRecipe;
  readonly allocation?: api.HostAllocation;
}

const COLUMNS: readonly Column<Row>[] = [
  { title: 'RECIPE', of: ({ recipe }) => recipe.name },
  { title: 'IS', of: ({ recipe }) => recipe.state },
  { title: 'ALLOCATION', of: ({ allocation }) => allocation?.id },
  { title: 'STATE', of: ({ allocation }) => allocation?.state },
  { title: 'JOB', of: ({ allocation }) => allocation?.jobId },
  { title: 'WANTED', of: ({ allocation }) => localTime(allocation?.wantedAt) },
  { title: 'ENDS', of: ({ allocation }) => localTime(allocation?.endedAt ?? allocation?.endsAt) },
  { title: 'CAUSE', of: ({ allocation }) => allocation?.cause },
  {
    title: 'MESSAGE',
    of: ({ recipe, allocation }) => allocation?.message ?? (allocation ? undefined : recipe.message),
    isRare: true,
  },
];

export function addHostCommands(program: Command, run: Run): void {
  program
    .command('hosts')
    .description('list the recipes of hosts with their allocations')
    .action(
      run(async (hub, output) => {
        const query = { size: PAGE_SIZE };
        const { data } = await api.listHostRecipes({ client: hub.client, query, throwOnError: true });
        print(data.content, output, () => table(data.content.flatMap(rowsOf), COLUMNS));
        return EXIT.FINISHED;
      }),
    );

  const host = program
    .command('host')
    .description('pause or resume a recipe of hosts, or give its hosts back');
  for (const [name, call, description] of [
    ['pause', api.pauseHostRecipe, 'bring no more hosts by a recipe; those that are there stay'],
    ['resume', api.resumeHostRecipe, 'bring hosts by a recipe again'],
    ['drain', api.drainHostRecipe, 'give all present hosts of a recipe back, each when no task runs there'],
  ] as const) {
    host
      .command(name)
      .argument('<recipe>')
      .description(description)
      .action(
        run(async (hub, output, recipe: string) => {
          await call({ client: hub.client, path: { name: recipe }, throwOnError: true });
          print({ name: recipe }, output, () => recipe);
          return EXIT.FINISHED;
        }),
      );
  }
}

function rowsOf(recipe: api.HostRecipe): Row[] {
  const open = recipe.allocations.filter(({ endedAt }) => endedAt === undefined);
  const over = recipe.allocations.filter(({ endedAt }) => endedAt !== undefined).slice(0, ENDED_SHOWN);
  const rows = [...open, ...over].map((allocation) => ({ recipe, allocation }));
  return rows.length === 0 ? [{ recipe }] : rows;
}
