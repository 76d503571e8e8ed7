/** Instances as the list shows them: by state, by what the reader looks for, by agent. */
import type { AgentState, WorkbenchInstance } from '@workbench-hub/client';

/** State of an instance; UP is divided into what works, what is free, and what would be if its agent were not drained. */
export type InstanceState = 'WORKING' | 'FREE' | 'DRAINED' | Exclude<WorkbenchInstance['status'], 'UP'>;

export const STATES: readonly InstanceState[] = [
  'WORKING',
  'FREE',
  'DRAINED',
  'STARTING',
  'STOPPING',
  'DOWN',
  'FAILED',
  'UNKNOWN',
];

/** Rows beyond this are left out: filters lead to them. */
export const MAX_ROWS = 1000;

export interface Group {
  /** Undefined for the hub's own machine. */
  readonly id: string | undefined;
  readonly agent: AgentState | undefined;
  readonly instances: readonly WorkbenchInstance[];
}

export interface Wanted {
  readonly state: InstanceState | undefined;
  readonly text: string;
}

export interface InstanceList {
  readonly groups: readonly Group[];
  readonly counts: Readonly<Record<InstanceState, number>>;
  /** Number of instances that match. */
  readonly matching: number;
}

/** `agent` is that of the instance; undefined for the hub's own machine. */
export function stateOf(
  { status, working }: Pick<WorkbenchInstance, 'status' | 'working'>,
  agent: Pick<AgentState, 'drained'> | undefined,
): InstanceState {
  if (status !== 'UP') return status;
  if (working) return 'WORKING';
  return agent?.drained ? 'DRAINED' : 'FREE';
}

/** Instances that match, by agent; agents without instances only while nothing is looked for. */
export function listOf(
  instances: readonly WorkbenchInstance[],
  agents: readonly AgentState[],
  { state, text }: Wanted,
): InstanceList {
  const counts = Object.fromEntries(STATES.map((each) => [each, 0])) as Record<InstanceState, number>;
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  const found = new Map<string | undefined, WorkbenchInstance[]>();
  const known = new Map(agents.map((agent) => [agent.id, agent]));
  let matching = 0;
  for (const instance of instances) {
    if (!words.every((word) => textOf(instance).includes(word))) continue;
    const agentId = instance.agentId ?? undefined;
    const its = stateOf(instance, agentId === undefined ? undefined : known.get(agentId));
    counts[its]++;
    if (state !== undefined && state !== its) continue;
    matching++;
    if (matching > MAX_ROWS) continue;
    const group = found.get(agentId);
    if (group) group.push(instance);
    else found.set(agentId, [instance]);
  }
  const ids = new Set(found.keys());
  if (state === undefined && words.length === 0) for (const { id } of agents) ids.add(id);
  // Sorting puts undefined at the end, and the own machine comes first.
  const named = [...ids].filter((id) => id !== undefined).toSorted((a, b) => a.localeCompare(b));
  const groups = [...(ids.has(undefined) ? [undefined] : []), ...named].map((id) => ({
    id,
    agent: id === undefined ? undefined : known.get(id),
    instances: found.get(id) ?? [],
  }));
  return { groups, counts, matching };
}

function textOf({ id, version, revision, labels, agentId }: WorkbenchInstance): string {
  return [id, version, revision, ...labels, agentId ?? ''].join('\n').toLowerCase();
}
