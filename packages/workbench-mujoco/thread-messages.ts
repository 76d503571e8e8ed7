/** Messages between the protocol's thread and the simulator's thread. */

import type { ExecuteBatchJobParams, OutputStream } from '@workbench-hub/shared/instance-protocol/messages';
import type { PointOutput } from '@workbench-hub/shared/instance-protocol/point-results';
import type { Isolation } from './isolation.js';
import type { JobEnd } from './job.js';
import type { StagedFiles } from './point-folder.js';
import type { WasmModule } from './web-assembly.js';

/** Data of a simulator's thread at its start. */
export interface ThreadData {
  /** The simulator, compiled once for all threads. */
  simulator: WasmModule;
  /** Amount of output in transit, see output-channel.ts. */
  inFlight: SharedArrayBuffer;
  /** Isolation of the job that the thread prepares for; it can run others, too. */
  isolation: Isolation;
}

/** To the simulator's thread, one after the other. */
export interface JobMessage {
  job: ExecuteBatchJobParams;
  /** Texts of the job's scripts. */
  sources: string[];
  isolation: Isolation;
  /** Files that are staged for a bundle. */
  staged?: StagedFiles;
  /** Whether the end of each point of a bundle is told at once, and not with those of others: a message takes longer than a small point. */
  tellsEachPoint?: boolean;
}

/** From the simulator's thread: `ready` first, then for each job its output, and its end. A bundle ends before all its points have
 *  ended when the thread is spent, or a point needs a directory of its own. */
export type ThreadMessage =
  | { kind: 'ready' }
  | { kind: 'output'; stream: OutputStream; text: string }
  /** In a bundle, the ends of the next points. */
  | ({ kind: 'pointsEnded' } & EndedPoints)
  | ({ kind: 'jobEnded' } & EndedJob);

export interface EndedPoints {
  points: readonly EndedPoint[];
  /** True when the points after these are left to tasks of their own. */
  isLast: boolean;
}

export interface EndedPoint {
  end: JobEnd;
  /** Time since the thread began with the points. */
  endedMs: number;
  outputs: readonly PointOutput[];
}

export interface EndedJob {
  end: JobEnd;
  /** True when the thread must not be used again. */
  isSpent: boolean;
  /** Leftovers of the job in the thread, which should not be there. */
  left: string | undefined;
}
