/** The files of the agent that the hub offers to agents for updates: those of its own version. */
import type { FoundBlob } from './blobs.js';

export interface AgentFile {
  /** System that it is for: `linux-x64`. */
  readonly system: string;
  readonly digest: string;
  readonly sizeBytes: number;
}

export interface AgentFiles {
  readonly version: string;
  readonly files: readonly AgentFile[];
  /** Undefined when no file has this digest. */
  find(digest: string): FoundBlob | undefined;
}
