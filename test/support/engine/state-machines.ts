/** State machines of tasks, attempts, studies, agents, instances and allocations as a picture and a table for the page that documents them. */
import { ATTEMPT_TRANSITIONS as ON_THE_AGENT } from '@workbench-hub/agent/core/attempt-states';
import { INSTANCE_TRANSITIONS, TRIGGERED_BY } from '@workbench-hub/agent/core/instance-states';
import { AGENT_TRANSITIONS } from '@workbench-hub/hub/core/agent-states';
import { ATTEMPT_TRANSITIONS } from '@workbench-hub/hub/core/attempt-states';
import { ALLOCATION_TRANSITIONS } from '@workbench-hub/hub/core/hosts/allocation';
import { STUDY_TRANSITIONS } from '@workbench-hub/hub/core/studies/study';
import { TASK_TRANSITIONS } from '@workbench-hub/hub/core/task';
import type { StateMachine } from '@workbench-hub/shared/domain/state-machine';

/** Text that the page has between `<!-- states: NAME -->` and `<!-- end -->`, by name. */
export function stateMachinesAsText(): Record<string, string> {
  return {
    task: textOf(TASK_TRANSITIONS),
    attempt: textOf(ATTEMPT_TRANSITIONS),
    'attempt on the agent': textOf(ON_THE_AGENT),
    study: textOf(STUDY_TRANSITIONS),
    agent: textOf(AGENT_TRANSITIONS),
    allocation: textOf(ALLOCATION_TRANSITIONS),
    instance: textOfInstance(),
  };
}

function textOf(machine: StateMachine<string>): string {
  const arrows = Object.entries(machine).flatMap(([name, { from, to }]) =>
    from.flatMap((source) => to.map((target) => ({ source, target, name }))),
  );
  const rows = Object.entries(machine).map(
    ([name, { from, to, by }]) => `| ${name} | ${shown(from)} | ${shown(to)} | ${by} |`,
  );
  return [picture(arrows), '', '| transition | from | to | caused by |', '|---|---|---|---|', ...rows].join(
    '\n',
  );
}

function textOfInstance(): string {
  const arrows = INSTANCE_TRANSITIONS.flatMap(({ on, from, to, when }) =>
    from.map((source) => ({ source, target: to, name: when === undefined ? on : `${on} (${when})` })),
  );
  const rows = INSTANCE_TRANSITIONS.map(
    ({ on, from, when = '', to, next, action = '' }) =>
      `| ${on} | ${shown(from)} | ${when} | ${to} | ${action} | ${next ?? ''} |`,
  );
  const causes = Object.entries(TRIGGERED_BY).map(([trigger, by]) => `| ${trigger} | ${by} |`);
  return [
    picture(arrows),
    '',
    '| trigger | from | condition | to | action of the agent | after the process ended |',
    '|---|---|---|---|---|---|',
    ...rows,
    '',
    '| trigger | caused by |',
    '|---|---|',
    ...causes,
  ].join('\n');
}

function shown(states: readonly string[]): string {
  return states.map((state) => (state === '-' ? '–' : state)).join(', ');
}

/** Mermaid diagram with one arrow for all transitions between the same two states. */
function picture(arrows: readonly { source: string; target: string; name: string }[]): string {
  const labels = new Map<string, string[]>();
  for (const { source, target, name } of arrows) {
    const ends = `${source === '-' ? '[*]' : source} --> ${target === '-' ? '[*]' : target}`;
    labels.set(ends, [...(labels.get(ends) ?? []), name]);
  }
  const lines = [...labels].map(([ends, names]) => `  ${ends}: ${names.join(', ')}`);
  return ['```mermaid', 'stateDiagram-v2', ...lines, '```'].join('\n');
}
