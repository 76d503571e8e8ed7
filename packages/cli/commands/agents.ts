/** `wb agents` and `wb agent`. */
import { type AgentState, type AgentUpdate, api } from '@workbench-hub/client';
import type { Command } from 'commander';
import type { Run } from '../command-action.js';
import { type Column, print, printable, table } from '../console.js';
import { EXIT } from '../exit-codes.js';
import { localTime } from '../times.js';
import { wholeNumber } from '../whole-number.js';
import { addRolloutCommand } from './rollout.js';

const PAGE_SIZE = 500;

/** Progress of which the version of the hub says nothing. */
const IS_ABOUT_NO_VERSION: ReadonlySet<string> = new Set(['UNKNOWN', 'UNABLE']);

const COLUMNS: readonly Column<AgentState>[] = [
  { title: 'ID', of: ({ id }) => id },
  { title: 'STATUS', of: ({ status }) => status },
  { title: 'LAST SEEN', of: ({ lastSeenAt }) => localTime(lastSeenAt), isRare: true },
  { title: 'HUB', of: ({ hub }) => hub && (hub.baseUrl ?? 'yes'), isRare: true },
  { title: 'VERSION', of: ({ version }) => version },
  {
    title: 'SYSTEM',
    of: ({ operatingSystem, architecture }) =>
      [operatingSystem, architecture].filter((part) => part !== undefined).join(' ') || undefined,
    isRare: true,
  },
  { title: 'INSTALLED', of: ({ installation }) => installation, isRare: true },
  { title: 'UPDATE', of: ({ update }) => update && updateOf(update), isRare: true },
  { title: 'UP', of: ({ instances }) => instances.UP },
  { title: 'TASKS', of: ({ runningTasks }) => runningTasks },
  {
    title: 'DRAINED',
    of: ({ drained, drainedBy, drainedSince }) =>
      drained ? `by ${drainedBy ?? '-'} since ${localTime(drainedSince) ?? '-'}` : undefined,
  },
];

/** `FAILED 0.2.0` */
function updateOf({ progress, version }: NonNullable<AgentState['update']>): string {
  return IS_ABOUT_NO_VERSION.has(progress) ? progress : `${progress} ${version}`;
}

export function addAgentCommands(program: Command, run: Run): void {
  program
    .command('agents')
    .description('list agents')
    .action(
      run(async (hub, output) => {
        const agents: AgentState[] = [];
        for (let page = 0; ; page++) {
          const query = { page, size: PAGE_SIZE };
          const { data } = await api.listAgentStates({ client: hub.client, query, throwOnError: true });
          agents.push(...data.content);
          if (page + 1 >= data.totalPages) break;
        }
        print(agents, output, () => table(agents, COLUMNS));
        return EXIT.FINISHED;
      }),
    );

  const agent = program.command('agent').description('drain, update, enroll or revoke an agent');
  for (const [name, call] of [
    ['drain', api.drainAgent],
    ['undrain', api.undrainAgent],
  ] as const) {
    agent
      .command(name)
      .argument('<id>')
      .description(name === 'drain' ? 'give an agent no new tasks' : 'give an agent tasks again')
      .action(
        run(async (hub, output, id: string) => {
          const { data } = await call({ client: hub.client, path: { id }, throwOnError: true });
          print(data, output, () => table([data], COLUMNS));
          return EXIT.FINISHED;
        }),
      );
  }

  agent
    .command('enroll')
    .argument('<id>')
    .description('print a one-time code, with which an agent of this id gets a credential')
    .option('--valid-for <seconds>', 'seconds for which the code is valid', wholeNumber(1), 3600)
    .addHelpText(
      'after',
      '\nThe code is for `workbench-agent enroll` on the host, or for `workbench-hub upstream enroll` of a hub that joins; they ask for it.',
    )
    .action(
      run(async (hub, output, id: string, { validFor }: { validFor: number }) => {
        const body = { id, validFor };
        const { data } = await api.enrollAgent({ client: hub.client, body, throwOnError: true });
        print(data, output, () => data.code);
        return EXIT.FINISHED;
      }),
    );
  addUpdateCommands(agent, run);
  addRolloutCommand(agent, run);
  agent
    .command('revoke')
    .argument('<id>')
    .description('end the credential of an agent, and its connection')
    .action(
      run(async (hub, output, id: string) => {
        await api.revokeAgent({ client: hub.client, path: { id }, throwOnError: true });
        print({ id }, output, () => id);
        return EXIT.FINISHED;
      }),
    );
}

function addUpdateCommands(agent: Command, run: Run): void {
  agent
    .command('version')
    .argument('<id>')
    .description('show the version of an agent, and its update by the hub')
    .action(
      run(async (hub, output, id: string) => {
        const { data } = await api.getAgentUpdate({ client: hub.client, path: { id }, throwOnError: true });
        print(data, output, () => updateInWords(data));
        return EXIT.FINISHED;
      }),
    );
  agent
    .command('update')
    .argument('<id>')
    .description('have an agent update to the version of the hub, once it runs no task')
    .option('--again', 'also if this version has failed there, or could not be tried lately')
    .action(
      run(async (hub, output, id: string, { again = false }: { again?: boolean }) => {
        const options = { client: hub.client, path: { id }, query: { again } };
        const { data } = await api.updateAgent({ ...options, throwOnError: true });
        print(data, output, () => updateInWords(data));
        return EXIT.FINISHED;
      }),
    );
}

function updateInWords({ running, phase, target, reason, problem, failed }: AgentUpdate): string {
  const lines = [
    running === undefined ? `not updated by hubs: ${reason}` : `runs ${running}`,
    ...(target === undefined ? [] : [`${phase} ${target}`]),
    ...(problem === undefined ? [] : [`not carried out: ${problem}`]),
    ...(failed
      ? [
          `${failed.version} failed at ${localTime(failed.at)}: ${failed.reason}`,
          ...failed.log.trimEnd().split('\n'),
        ]
      : []),
  ];
  return lines.map(printable).join('\n');
}
