/** Hosts that joined hubs lend instances from. */

/** Host of a lent instance that comes and goes, as the hub that lends it tells it. */
export interface LentHostEnd {
  /** Id at the hub that lends it. */
  readonly id: string;
  /** Time at which what runs on it must have ended, by the clock of this hub. */
  readonly atMs: number;
}
