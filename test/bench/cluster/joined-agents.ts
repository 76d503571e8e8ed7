/** The process of many agents without hosts. */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { compiled } from '../compiled.js';
import type { FromAgents, ToAgents } from './agents-process.js';

export class JoinedAgents {
  readonly #child: ChildProcess = fork(fileURLToPath(compiled('./agents-process.js', import.meta.url)), {
    execArgv: [],
  });

  get pid(): number {
    return this.#child.pid ?? 0;
  }

  /** Resolves with the time until all were joined, in milliseconds. */
  async tell(message: ToAgents): Promise<number> {
    const ended = once(this.#child, 'exit').then(([code]) => {
      throw new Error(`the process of the agents ended (${code})`);
    });
    this.#child.send(message);
    const [{ tookMs }] = (await Promise.race([once(this.#child, 'message'), ended])) as [FromAgents];
    return tookMs;
  }

  async stop(): Promise<void> {
    if (this.#child.exitCode !== null) return;
    const ended = once(this.#child, 'exit');
    this.#child.disconnect();
    await ended;
  }
}
