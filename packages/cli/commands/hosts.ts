/** `wb hosts` and `wb host`. */
import { api } from '@workbench-hub/client';
import { type Command, InvalidArgumentError } from 'commander';
import type { Run } from '../command-action.js';
import { type Column, print, table } from '../console.js';
import { EXIT } from '../exit-codes.js';
import { localTime } from '../times.js';

const PAGE_SIZE = 500;
/** Allocations that are over, of each recipe, in the table. */
const ENDED_SHOWN = 5;

/** Months of which the hub knows host-hours. */
const MAX_MONTHS = 13;

/** An allocation with its recipe. */
interface Row {
  readonly recipe: string;
  readonly allocation: api.HostAllocation;
}

const RECIPE_COLUMNS: readonly Column<api.HostRecipe>[] = [
  { title: 'RECIPE', of: ({ name }) => name },
  { title: 'IS', of: ({ state }) => state },
  { title: 'ALLOCATIONS', of: (recipe) => of(openOf(recipe).length, recipe.maxAllocations) },
  { title: 'NOT STARTED', of: (recipe) => of(openOf(recipe).filter(isQueued).length, recipe.maxQueued) },
  { title: 'HOURS IN 24 H', of: ({ hostHours, maxHostHours }) => of(hours(hostHours), maxHostHours) },
  { title: 'RESERVED', of: ({ reservedHostHours }) => hours(reservedHostHours) },
  { title: 'PAUSED BY', of: ({ pausedBy }) => pausedBy, isRare: true },
  { title: 'SINCE', of: ({ pausedAt }) => localTime(pausedAt), isRare: true },
  {
    title: 'FAILED',
    of: ({ failedStarts }) => (failedStarts === 0 ? undefined : failedStarts),
    isRare: true,
  },
  { title: 'NEXT TRY', of: ({ nextTryAt }) => localTime(nextTryAt), isRare: true },
  { title: 'MESSAGE', of: ({ message }) => message, isRare: true },
];

const ALLOCATION_COLUMNS: readonly Column<Row>[] = [
  { title: 'ALLOCATION', of: ({ allocation }) => allocation.id },
  { title: 'RECIPE', of: ({ recipe }) => recipe },
  { title: 'STATE', of: ({ allocation }) => (isFailedStart(allocation) ? 'FAILED' : allocation.state) },
  { title: 'JOB', of: ({ allocation }) => allocation.jobId },
  { title: 'WANTED', of: ({ allocation }) => localTime(allocation.wantedAt) },
  { title: 'ENDS', of: ({ allocation }) => localTime(allocation.endedAt ?? allocation.endsAt) },
  { title: 'REASON', of: ({ allocation }) => allocation.reason },
  { title: 'FOR', of: ({ allocation }) => allocation.forUser, isRare: true },
  { title: 'CAUSE', of: ({ allocation }) => allocation.cause },
  { title: 'MESSAGE', of: ({ allocation }) => allocation.message, isRare: true },
];

const HOURS_COLUMNS: readonly Column<api.HostHours['content'][number]>[] = [
  { title: 'MONTH', of: ({ month }) => month },
  { title: 'RECIPE', of: ({ recipe }) => recipe },
  { title: 'HOST-HOURS', of: ({ hostHours }) => hours(hostHours) },
];

const HELP = `
The first table has a line for each recipe: its allocations and those that have not started, each of the most that
it may have; host-hours that ran within 24 hours, of their bound, and those that its allocations may still run, which
count against the bound, too; who has paused it; starts in a row that have failed, and the next try. The second one
has the allocations: all that are open, and for each recipe the latest ${ENDED_SHOWN} that are over (--json: 20). FAILED is one that
was over before an instance of its agent was up; JOB is the id by which the workload manager knows its job; REASON says
why it was wanted, and CAUSE why it is given back, or over. Messages are for administrators.
`;

export function addHostCommands(program: Command, run: Run): void {
  program
    .command('hosts')
    .description('list the recipes of hosts with their bounds, host-hours, failed starts and allocations')
    .addHelpText('after', HELP)
    .action(
      run(async (hub, output) => {
        const query = { size: PAGE_SIZE };
        const { data } = await api.listHostRecipes({ client: hub.client, query, throwOnError: true });
        print(data.content, output, () => hostsInWords(data.content));
        return EXIT.FINISHED;
      }),
    );

  const host = program
    .command('host')
    .description('pause or resume a recipe of hosts, give its hosts back, or list host-hours by month');
  host
    .command('hours')
    .description('list the host-hours of each recipe by month')
    .option('--months <number>', 'months, the current one among them, 13 at most', monthsOf, 12)
    .action(
      run(async (hub, output, { months }: { months: number }) => {
        const { data } = await api.listHostHours({
          ...{ client: hub.client, query: { months }, throwOnError: true },
        });
        print(data.content, output, () => table(data.content, HOURS_COLUMNS));
        return EXIT.FINISHED;
      }),
    );
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

function monthsOf(text: string): number {
  const months = Number(text);
  if (Number.isInteger(months) && months >= 1 && months <= MAX_MONTHS) return months;
  throw new InvalidArgumentError(`It must be a whole number from 1 to ${MAX_MONTHS}.`);
}

/** The recipes and their allocations as two tables. */
export function hostsInWords(recipes: readonly api.HostRecipe[]): string {
  const rows = recipes.flatMap((recipe) =>
    shownOf(recipe).map((allocation) => ({ recipe: recipe.name, allocation })),
  );
  const tables = [
    table(recipes, RECIPE_COLUMNS),
    ...(rows.length === 0 ? [] : [table(rows, ALLOCATION_COLUMNS)]),
  ];
  return tables.join('\n\n');
}

function openOf({ allocations }: api.HostRecipe): api.HostAllocation[] {
  return allocations.filter(({ endedAt }) => endedAt === undefined);
}

function shownOf(recipe: api.HostRecipe): api.HostAllocation[] {
  const over = recipe.allocations.filter(({ endedAt }) => endedAt !== undefined);
  return [...openOf(recipe), ...over.slice(0, ENDED_SHOWN)];
}

function isQueued({ state }: api.HostAllocation): boolean {
  return state === 'WANTED' || state === 'SUBMITTED' || state === 'QUEUED';
}

/** Whether it is over before an instance of its agent was up, and nobody wanted that. */
function isFailedStart({ endedAt, joinedAt, cause }: api.HostAllocation): boolean {
  return endedAt !== undefined && joinedAt === undefined && cause !== 'NOT_NEEDED' && cause !== 'ASKED';
}

function of(amount: number, bound: number | undefined): string {
  return bound === undefined ? String(amount) : `${amount} of ${bound}`;
}

/** Hours with one digit after the point at most. */
function hours(amount: number): number {
  return Math.round(amount * 10) / 10;
}
