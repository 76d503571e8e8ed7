/** The lives of tasks, attempts, agents and instances as text for the page that documents them: a picture and a table. */
import { ATTEMPT_LIFE as ON_THE_AGENT } from '@workbench-hub/agent/core/attempt-life';
import { HAPPENS_BY, INSTANCE_LIFE } from '@workbench-hub/agent/core/instance-life';
import { AGENT_LIFE } from '@workbench-hub/hub/core/agent-life';
import { ATTEMPT_LIFE } from '@workbench-hub/hub/core/attempt-life';
import { TASK_LIFE } from '@workbench-hub/hub/core/task';
import type { Life } from '@workbench-hub/shared/domain/life';

/** What the page says between `<!-- life: NAME -->` and `<!-- end -->`, by name. */
export function livesAsText(): Record<string, string> {
  return {
    task: textOf(TASK_LIFE),
    attempt: textOf(ATTEMPT_LIFE),
    'attempt on the agent': textOf(ON_THE_AGENT),
    agent: textOf(AGENT_LIFE),
    instance: textOfInstanceLife(),
  };
}

function textOf(life: Life<string>): string {
  const arrows = Object.entries(life).flatMap(([name, { from, to }]) =>
    from.flatMap((source) => to.map((target) => ({ source, target, name }))),
  );
  const rows = Object.entries(life).map(
    ([name, { from, to, by }]) => `| ${name} | ${shown(from)} | ${shown(to)} | ${by} |`,
  );
  return [picture(arrows), '', '| step | from | to | taken by |', '|---|---|---|---|', ...rows].join('\n');
}

function textOfInstanceLife(): string {
  const arrows = INSTANCE_LIFE.flatMap(({ on, from, to, when }) =>
    from.map((source) => ({ source, target: to, name: when === undefined ? on : `${on} (${when})` })),
  );
  const rows = INSTANCE_LIFE.map(
    ({ on, from, when = '', to, next, step = '' }) =>
      `| ${on} | ${shown(from)} | ${when} | ${to} | ${step} | ${next ?? ''} |`,
  );
  const makers = Object.entries(HAPPENS_BY).map(([happening, by]) => `| ${happening} | ${by} |`);
  return [
    picture(arrows),
    '',
    '| happens | in | when | then | the agent does | once it has ended |',
    '|---|---|---|---|---|---|',
    ...rows,
    '',
    '| happens | by |',
    '|---|---|',
    ...makers,
  ].join('\n');
}

function shown(states: readonly string[]): string {
  return states.map((state) => (state === '-' ? '–' : state)).join(', ');
}

/** One arrow for all steps between the same two states. */
function picture(arrows: readonly { source: string; target: string; name: string }[]): string {
  const labels = new Map<string, string[]>();
  for (const { source, target, name } of arrows) {
    const ends = `${source === '-' ? '[*]' : source} --> ${target === '-' ? '[*]' : target}`;
    labels.set(ends, [...(labels.get(ends) ?? []), name]);
  }
  const lines = [...labels].map(([ends, names]) => `  ${ends}: ${names.join(', ')}`);
  return ['```mermaid', 'stateDiagram-v2', ...lines, '```'].join('\n');
}
