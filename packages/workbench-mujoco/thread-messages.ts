/** Messages between the protocol's thread and the simulator's thread. */
import type { ExecuteBatchJobParams, OutputStream } from '@workbench-hub/shared/instance-protocol/messages';
import type { Isolation } from './isolation.js';
import type { JobEnd } from './job.js';
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
}

/** From the simulator's thread: `ready` first, then for each job its output, and its end. */
export type ThreadMessage =
  | { kind: 'ready' }
  | { kind: 'output'; stream: OutputStream; text: string }
  | {
      kind: 'jobEnded';
      end: JobEnd;
      /** True when the thread must not be used again. */
      isSpent: boolean;
      /** Leftovers of the job in the thread, which should not be there. */
      left: string | undefined;
    };
