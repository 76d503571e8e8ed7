import type { Logger } from '@workbench-hub/shared/runtime/logger';
import type { Clock, Timers } from '@workbench-hub/shared/runtime/runtime';
import type { StoreMetrics } from '../../../core/ports/metrics.js';
import type { Database } from '../connection/pool.js';
import { rowsOf } from '../connection/statement.js';
import { ClaimLog } from './claim-log.js';
import { Lane, type LaneOptions } from './lane.js';
import { LANE_NAMES, type LaneName } from './lane-names.js';
import { OPEN_LANES } from './lane-statements.js';

/** The lanes of a hub, which write at the same time. */
export interface Lanes {
  /** New tasks, and the requirements that they refer to. */
  readonly insert: Lane;
  /** Claims. */
  readonly claim: Lane;
  /** All other transitions of tasks, and the storage, whose references they change. */
  readonly change: Lane;
  /** Inline blobs. */
  readonly blobs: Lane;
  /** Writes that belong to no task. */
  readonly side: Lane;
}

export interface LanesOptions {
  readonly clock: Clock;
  readonly timers: Timers;
  readonly log: Logger;
  readonly metrics?: StoreMetrics | undefined;
  /** Name of the hub, which keeps its lanes. */
  readonly hub: string;
  /** Name of this start of the hub, which no other has. */
  readonly incarnation: string;
  /** A batch of any lane took place. */
  readonly onWritten: (isDurable: boolean) => void;
  /** A durable batch of a lane took place, whose calls are not told yet. */
  readonly onDurable?: ((lane: LaneName, batch: number) => void) | undefined;
  readonly onBroken: (why: Error) => void;
}

export interface OpenedLanes {
  readonly lanes: Lanes;
  readonly claims: ClaimLog;
  /** Whether claims of a former incarnation may not be logged as changes. */
  readonly hasUnloggedClaims: boolean;
}

interface LaneRow {
  readonly id: number;
  readonly name: LaneName;
  readonly batch: number;
  readonly logged: number;
}

/** Takes the lanes over from a former incarnation. Rejects with `DatabaseFault`. */
export async function openLanes(db: Database, options: LanesOptions): Promise<OpenedLanes> {
  const { hub, incarnation } = options;
  const values = { hub, names: LANE_NAMES, incarnation };
  const rows = await rowsOf<LaneRow, keyof typeof values>(db, OPEN_LANES, values);
  const rowOf = (name: LaneName): LaneRow => {
    const row = rows.find((each) => each.name === name);
    if (!row) throw new Error(`the lane ${name} was not opened`);
    return row;
  };
  const claims: ClaimLog = new ClaimLog(() => lanes.claim.batch);
  const all = (): readonly Lane[] => Object.values(lanes);
  const laneOptions: LaneOptions = { ...options, db, claims, all };
  const lane = (name: LaneName) => new Lane({ ...rowOf(name), incarnation }, laneOptions);
  const lanes: Lanes = {
    insert: lane('insert'),
    claim: lane('claim'),
    change: lane('change'),
    blobs: lane('blobs'),
    side: lane('side'),
  };
  const logged = Math.max(...rows.map((row) => row.logged));
  return { lanes, claims, hasUnloggedClaims: rowOf('claim').batch > logged };
}

/** From now on, no lane waits for a database that is out of reach for long. */
export function beginStopOf(lanes: Lanes): void {
  for (const lane of Object.values(lanes) as Lane[]) lane.beginStop();
}

/** Writes what waits. */
export async function closeLanes({ insert, claim, change, blobs, side }: Lanes): Promise<void> {
  await Promise.all([insert.close(), claim.close(), change.close(), blobs.close(), side.close()]);
}
