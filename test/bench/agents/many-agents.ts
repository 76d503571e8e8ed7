/** The process of many simulated agents. */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { compiled } from '../compiled.js';
import type { FromAgents, ToAgents } from './agents-process.js';

/** Address and join token of a hub, for agents. */
export function doorOf({ port, dataDir }: { readonly port: number; readonly dataDir: string }) {
  return {
    address: `ws://127.0.0.1:${port}`,
    token: readFileSync(join(dataDir, 'agent-token'), 'utf8').trim(),
  };
}

export class Agents {
  readonly #child: ChildProcess = fork(fileURLToPath(compiled('./agents-process.js', import.meta.url)), {
    execArgv: [],
  });

  get pid(): number {
    return this.#child.pid ?? 0;
  }

  /** Resolves with the time until all were welcomed. */
  async tell(message: ToAgents): Promise<number> {
    this.#child.send(message);
    const [{ tookMs }] = (await once(this.#child, 'message')) as [FromAgents];
    return tookMs;
  }

  async stop(): Promise<void> {
    if (this.#child.exitCode !== null) return;
    this.#child.disconnect();
    await once(this.#child, 'exit');
  }
}
