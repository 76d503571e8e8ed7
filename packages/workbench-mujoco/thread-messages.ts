/** Messages between the protocol's thread and the simulator's thread. */
import type { ExecuteBatchJobParams, OutputStream } from '@workbench-hub/shared/instance-protocol/messages';
import type { WasmModule } from './web-assembly.js';

/** Data of a simulator's thread at its start. */
export interface ThreadData {
  /** The simulator, compiled once for all threads. */
  simulator: WasmModule;
  /** Amount of output in transit, see output-channel.ts. */
  inFlight: SharedArrayBuffer;
}

/** To the simulator's thread, once. */
export interface JobMessage {
  job: ExecuteBatchJobParams;
}

/** From the simulator's thread: `ready` first, then output, then one of the others. */
export type ThreadMessage =
  | { kind: 'ready' }
  | { kind: 'output'; stream: OutputStream; text: string }
  /** All scripts succeeded, or one failed, for the reason in `message`. */
  | { kind: 'ended'; status: 'OK' | 'ERROR'; message?: string }
  /** The scripts could not be run. */
  | { kind: 'failed'; message: string };
