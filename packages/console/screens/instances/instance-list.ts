/** Instances as the list shows them: by state, by what the reader looks for, by agent. */
import type { AgentState, WorkbenchInstance } from '@workbench-hub/client';

/** State of an instance; UP is divided into what works, what is free, what is kept for other hubs, and what would be free if its agent were not
 *  drained. */
export type InstanceState =
  | 'WORKING'
  | 'FREE'
  | 'KEPT'
  | 'DRAINED'
  | Exclude<WorkbenchInstance['status'], 'UP'>;

export const STATES: readonly InstanceState[] = [
  'WORKING',
  'FREE',
  'KEPT',
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
  { status, working, lent }: Pick<WorkbenchInstance, 'status' | 'working' | 'lent'>,
  agent: Pick<AgentState, 'drained'> | undefined,
): InstanceState {
  if (status !== 'UP') return status;
  if (working) return 'WORKING';
  if (agent?.drained) return 'DRAINED';
  return lent === 'KEPT' ? 'KEPT' : 'FREE';
}

/** Instances that match, by agent; agents without instances only while nothing is looked for. */
export function listOf(
  instances: readonly WorkbenchInstance[],
  agents: readonly AgentState[],
  { state, text }: Wanted,
): InstanceList {
  const counts = Object.fromEntries(STATES.map((each) => [each, 0])) as Record<InstanceState, number>;
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  const known = new Map<string | undefined, AgentState>(agents.map((agent) => [agent.id, agent]));
  const matching: WorkbenchInstance[] = [];
  for (const instance of instances) {
    if (!words.every((word) => textOf(instance).includes(word))) continue;
    const its = stateOf(instance, known.get(agentIdOf(instance)));
    counts[its]++;
    if (state === undefined || state === its) matching.push(instance);
  }
  const found = byAgent(matching.slice(0, MAX_ROWS));
  const ids = new Set(found.keys());
  if (state === undefined && words.length === 0) for (const { id } of agents) ids.add(id);
  const groups = inOrder(ids).map((id) => ({
    id,
    agent: known.get(id),
    instances: found.get(id) ?? [],
  }));
  return { groups, counts, matching: matching.length };
}

/** Id of the agent of an instance; undefined for the hub's own machine. */
function agentIdOf({ agentId }: WorkbenchInstance): string | undefined {
  return agentId ?? undefined;
}

function byAgent(instances: readonly WorkbenchInstance[]): Map<string | undefined, WorkbenchInstance[]> {
  const found = new Map<string | undefined, WorkbenchInstance[]>();
  for (const instance of instances) {
    const group = found.get(agentIdOf(instance));
    if (group) group.push(instance);
    else found.set(agentIdOf(instance), [instance]);
  }
  return found;
}

/** Ids of agents by name, after the hub's own machine. */
function inOrder(ids: ReadonlySet<string | undefined>): (string | undefined)[] {
  // Sorting puts undefined at the end, and the own machine comes first.
  const named = [...ids].filter((id) => id !== undefined).toSorted((a, b) => a.localeCompare(b));
  return [...(ids.has(undefined) ? [undefined] : []), ...named];
}

function textOf({ id, version, revision, labels, agentId }: WorkbenchInstance): string {
  return [id, version, revision, ...labels, agentId ?? ''].join('\n').toLowerCase();
}
