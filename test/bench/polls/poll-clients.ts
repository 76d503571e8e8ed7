/** Starts the processes of the polls, and talks to the clients. */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { FromPollClients, ToPollClients } from './poll-clients-process.js';

/** Starts a compiled file of this folder as a process that ends with this one. */
function start(file: string): ChildProcess {
  // Tests run this file from its source.
  const here = import.meta.url.replace('/test/bench/', '/test/dist/bench/');
  return fork(fileURLToPath(new URL(file, here)), { execArgv: [] });
}

export interface BareServer {
  readonly port: number;
  readonly pid: number;
  stop(): Promise<void>;
}

export async function startBareServer(): Promise<BareServer> {
  const child = start('./bare-server-process.js');
  const [{ port }] = (await once(child, 'message')) as [{ port: number }];
  return { port, pid: child.pid ?? 0, stop: () => stop(child) };
}

export class PollClients {
  readonly #child = start('./poll-clients-process.js');

  get pid(): number {
    return this.#child.pid ?? 0;
  }

  /** Opens a connection for each path and asks for it. */
  async open(port: number, paths: readonly string[], encodings?: string): Promise<void> {
    await this.#ask(
      { kind: 'open', port, paths, ...(encodings === undefined ? {} : { encodings }) },
      'asked',
    );
  }

  /** Ends the connections of this number of clients, the first ones. */
  async leave(count: number): Promise<void> {
    await this.#ask({ kind: 'leave', count }, 'left');
  }

  /** Arrival time of each response by path, by the wall clock. */
  async answers(): Promise<Map<string, number>> {
    return new Map((await this.#ask({ kind: 'report' }, 'answers')).answers);
  }

  stop(): Promise<void> {
    return stop(this.#child);
  }

  async #ask<Kind extends FromPollClients['kind']>(
    message: ToPollClients,
    kind: Kind,
  ): Promise<Extract<FromPollClients, { kind: Kind }>> {
    this.#child.send(message);
    const [answer] = (await once(this.#child, 'message')) as [FromPollClients];
    if (answer.kind !== kind) throw new Error(`the clients said ${answer.kind} instead of ${kind}`);
    return answer as Extract<FromPollClients, { kind: Kind }>;
  }
}

async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null) return;
  child.disconnect();
  await once(child, 'exit');
}
