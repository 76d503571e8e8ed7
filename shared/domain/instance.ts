/** Terms of workbench instances and agents (contract 1.6). */

export const INSTANCE_STATUSES = ['UP', 'STARTING', 'STOPPING', 'DOWN', 'FAILED', 'UNKNOWN'] as const;
export type InstanceStatus = (typeof INSTANCE_STATUSES)[number];

/** Statuses that an agent reports; a hub shows UNKNOWN for an unreachable agent. */
export const REPORTED_INSTANCE_STATUSES = ['UP', 'STARTING', 'STOPPING', 'DOWN', 'FAILED'] as const;
export type ReportedInstanceStatus = (typeof REPORTED_INSTANCE_STATUSES)[number];

/** Commands of operators. */
export const INSTANCE_COMMANDS = ['start', 'stop', 'restart'] as const;
export type InstanceCommand = (typeof INSTANCE_COMMANDS)[number];

/** `console` is both, in order. */
export const INSTANCE_LOG_TYPES = ['stdout', 'stderr', 'console'] as const;
export type InstanceLogType = (typeof INSTANCE_LOG_TYPES)[number];

export const AGENT_STATUSES = ['UP', 'DOWN'] as const;
export type AgentStatus = (typeof AGENT_STATUSES)[number];

/** Kind of jobs that an instance program runs, as far as it says. */
export interface JobKind {
  /** Types of models, in upper case and sorted; absent for any. */
  readonly models?: readonly string[] | undefined;
  /** Languages of scripts, sorted; absent when it does not say. */
  readonly scripts?: readonly string[] | undefined;
  /** Whether one job of it may be several points of a study (decision 0088). */
  readonly points?: true | undefined;
}

/** Form of a type of models. */
export const MODEL_TYPE = /^[A-Z0-9]{1,16}$/;

/** Form of the name of a language: printable on every terminal. */
export const SCRIPT_LANGUAGE = /^[A-Za-z0-9][A-Za-z0-9 +#._-]{0,39}$/;

/** Maximum number of types, and of languages, of one kind. */
export const MAX_KIND_NAMES = 50;

/** Text that equal kinds have in common; null for one that is not said. */
export function kindKey(kind: JobKind | undefined): string | null {
  if (!kind) return null;
  const named = [kind.models ?? null, kind.scripts ?? null];
  return JSON.stringify(kind.points ? [...named, 'POINTS'] : named);
}

/** Configuration of an instance that matching uses, and what its program says of itself. */
export interface InstanceProfile {
  readonly id: string;
  readonly version: string;
  readonly revision: string;
  readonly labels: readonly string[];
  /** Kind of jobs that its program runs; absent before it has said so, and from programs and agents that do not. */
  readonly runs?: JobKind | undefined;
}

/** Number of crashes that an agent keeps of an instance. */
export const MAX_CRASHES = 50;

/** Maximum length of their reasons. */
export const MAX_CRASH_REASON_LENGTH = 4000;

/** A crash: an end of an instance program that nobody asked for. */
export interface InstanceCrash {
  /** Time that has passed since then. A duration needs no common clock. */
  readonly agoMs: number;
  readonly reason: string;
  /** Task that the instance worked on; null when it worked on none. */
  readonly taskId: string | null;
}

/** The crashes of an instance since its agent started. */
export interface InstanceCrashes {
  /** Uptime of the agent. */
  readonly agentUpForMs: number;
  readonly count: number;
  /** The latest of them, newest first. */
  readonly latest: readonly InstanceCrash[];
}

/** States of an instance that another hub lends. OFFERED: it takes a task of the hub that it is lent to. IN_USE: it works for its own hub.
 *  KEPT: it is idle, and not offered at present. */
export const LENT_STATES = ['OFFERED', 'IN_USE', 'KEPT'] as const;
export type LentState = (typeof LENT_STATES)[number];

/** Host of a lent instance that comes and goes. */
export interface LentHost {
  /** Id at the hub that lends it: instances with the same one end together. */
  readonly id: string;
  /** Time that it still has for tasks. A duration needs no common clock. */
  readonly leftMs: number;
}

/** An agent's statement about one of its instances. */
export interface InstanceReport extends InstanceProfile {
  readonly status: ReportedInstanceStatus;
  /** Uptime of its process; null when it is not up. A duration needs no common clock. */
  readonly upForMs: number | null;
  /** State of an instance that another hub lends; absent for an instance of the agent itself. */
  readonly lent?: LentState | undefined;
  /** Host of an instance that another hub lends; absent for one that stays, and from hubs of earlier versions. */
  readonly host?: LentHost | undefined;
}
