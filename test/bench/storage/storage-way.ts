import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { HubProgram } from '../../support/programs/programs.js';
import type { Sample } from '../workload.js';

export interface StorageStage {
  /** Just started, for this way alone. */
  readonly hub: HubProgram;
  /** Data folder of the hub, removed with it. */
  readonly folder: string;
  /** A file of `sizeBytes` that nothing can compress. */
  readonly source: string;
  readonly sizeBytes: number;
  /** Part of the full size. */
  readonly scale: number;
}

/** One way of a file into a hub or out of it. */
export interface StorageWay {
  /** Prefix of the names of its samples. */
  readonly name: string;
  /** Configuration of its hub, beyond that of every test hub. */
  readonly config?: Record<string, unknown>;
  measure(stage: StorageStage): Promise<Sample[]>;
}

/** MiB a second, from bytes and milliseconds. */
export function pace(name: string, bytes: number, ms: number): Sample {
  return { name, value: bytes / 1024 ** 2 / (ms / 1000), unit: 'MiB/s' };
}

/** The token of agents of the hub. */
export function agentToken({ folder }: Pick<StorageStage, 'folder'>): string {
  return readFileSync(join(folder, 'hub', 'agent-token'), 'utf8').trim();
}
