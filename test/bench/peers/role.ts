/** Roles of peer processes: the front accepts requests, the worker executes tasks. */
import { spawn } from 'node:child_process';
import type { LoadTask } from '../load/dialects.js';

/** Variant of a peer whose worker starts a child process for each slot. */
export const SANDBOXED = 'sandboxed';

/** Options of such a process. */
export interface RoleOptions {
  readonly folder: string;
  readonly slots: number;
  /** Port of the peer's server, or for the worker of a limit, of the front. */
  readonly serverPort: number;
  /** Address of the peer's server, where its port is not enough. */
  readonly serverUrl: string;
  /** Variant of the peer. */
  readonly variant: string;
}

export interface PeerRoles {
  /** Resolves with the port of the front. */
  front(options: RoleOptions): Promise<number>;
  /** Gets ready, waits for `go`, and executes tasks from then on. */
  worker(options: RoleOptions, go: () => Promise<void>): Promise<void>;
}

/** Work of one task: nothing, or one process. */
export async function execute(kind: LoadTask['kind']): Promise<{ ok: boolean }> {
  if (kind === 'NOOP') return { ok: true };
  return new Promise((resolve, reject) => {
    spawn('/bin/true', { stdio: 'ignore' })
      .once('error', reject)
      .once('exit', (code) => resolve({ ok: code === 0 }));
  });
}
