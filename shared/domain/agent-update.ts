/** Update of an agent by its hub (decision 0092). */

/** IDLE: nothing is under way. DOWNLOADING: the file is fetched. WAITING: it is here, and the agent starts it once it runs no task. TRIAL: the
 *  new version runs, and has not proven itself yet. */
export const UPDATE_PHASES = ['IDLE', 'DOWNLOADING', 'WAITING', 'TRIAL'] as const;
export type UpdatePhase = (typeof UPDATE_PHASES)[number];

/** Maximum length of the kept end of what a failed version printed. */
export const MAX_UPDATE_LOG_LENGTH = 16 * 1024;
/** Maximum length of a reason. */
export const MAX_UPDATE_REASON_LENGTH = 2000;

/** State of an agent with respect to updates, as it tells its hub. */
export interface AgentUpdate {
  /** Reason why hubs never update this agent; null when they may. */
  readonly unable: string | null;
  /** System that its file is for: `linux-x64`. */
  readonly system: string;
  readonly phase: UpdatePhase;
  /** Name of the version that runs; null for an agent that hubs never update. */
  readonly running: string | null;
  /** Name of the version that the phase is about; null when it is IDLE. */
  readonly target: string | null;
  /** Reason why the latest order was not carried out, although the version was never started; null for none. */
  readonly problem: string | null;
  /** The latest version that failed; null for none. */
  readonly failed: FailedUpdate | null;
}

export interface FailedUpdate {
  readonly name: string;
  readonly reason: string;
  /** End of what it printed. */
  readonly log: string;
  /** Time since then. */
  readonly agoMs: number;
}

const DIGEST_LENGTH = 16;

/** Name of a version: another file with the same version has another one. `digest` is its SHA-256 in hex. */
export function versionName(version: string, digest: string): string {
  return `${version.replaceAll(/[^0-9A-Za-z.+-]/g, '_')}-${digest.slice(0, DIGEST_LENGTH)}`;
}
