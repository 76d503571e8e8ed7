/** `wb agent rollout`. */
import { api } from '@workbench-hub/client';
import { Argument, type Command } from 'commander';
import type { Run } from '../command-action.js';
import { type Column, print, printable, table } from '../console.js';
import { EXIT } from '../exit-codes.js';
import { localTime } from '../times.js';

const COLUMNS: readonly Column<api.RolloutAgent>[] = [
  { title: 'ID', of: ({ id }) => id },
  { title: 'GROUP', of: ({ group }) => group },
  { title: 'IS', of: ({ progress }) => progress },
  { title: 'RUNS', of: ({ running }) => running },
  { title: 'SINCE', of: ({ changedAt }) => localTime(changedAt) },
  { title: 'REASON', of: ({ reason }) => reason, isRare: true },
];

const HELP = `
The table has the agents of all groups: those of group 1 are updated first. An agent that is WAITING runs tasks, or
cannot be updated for now; UNDER_WAY fetches the version, restarts, or is on trial. One that has FAILED is back at its
version, and stops the rollout until \`wb agent rollout resume\`, which passes it over. \`wb agent version\` shows the end
of what the failed version has printed.
`;

export function addRolloutCommand(agent: Command, run: Run): void {
  agent
    .command('rollout')
    .addArgument(
      new Argument('[change]', 'order no more agents, or go on past those that have failed').choices([
        'stop',
        'resume',
      ]),
    )
    .description("show, stop or resume the rollout of the hub's version to all agents of its groups")
    .addHelpText('after', HELP)
    .action(
      run(async (hub, output, change: 'stop' | 'resume' | undefined) => {
        const { data } = await callOf(change)({ client: hub.client, throwOnError: true });
        print(data, output, () => rolloutInWords(data));
        return EXIT.FINISHED;
      }),
    );
}

function callOf(change: 'stop' | 'resume' | undefined) {
  if (change === undefined) return api.getRollout<true>;
  return change === 'stop' ? api.stopRollout<true> : api.resumeRollout<true>;
}

function rolloutInWords(rollout: api.Rollout): string {
  const { state, version, stoppedBy, stoppedAt, agents } = rollout;
  const stop = stoppedBy === undefined ? '' : `, stopped by ${stoppedBy} at ${localTime(stoppedAt)}`;
  const failed = agents.filter(({ progress }) => progress === 'FAILED').map(({ id }) => id);
  const failures = failed.length === 0 ? '' : `, failed on ${failed.join(', ')}`;
  const head = printable(`${state}${version === undefined ? '' : ` ${version}`}${stop}${failures}`);
  return agents.length === 0 ? head : `${head}\n\n${table(agents, COLUMNS)}`;
}
