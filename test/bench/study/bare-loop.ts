/** Simulations of the study in a bare loop over a loaded simulator, in as many processes as there are instances. */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { compiled } from '../compiled.js';
import type { FromBareLoop, ToBareLoop } from './bare-loop-process.js';

/** Simulations before the measured ones. */
export const WARM_POINTS = 50;

export interface Measured {
  readonly seconds: number;
  readonly cpuS: number;
  readonly numbers: readonly string[];
}

export async function measureBareLoop(count: number, processes: number): Promise<Measured> {
  const loops = Array.from({ length: processes }, () => new BareLoop());
  try {
    await Promise.all(loops.map((loop) => loop.run({ from: 0, to: WARM_POINTS })));
    const each = count / processes;
    const began = performance.now();
    const parts = await Promise.all(
      loops.map((loop, at) => loop.run({ from: Math.floor(at * each), to: Math.floor((at + 1) * each) })),
    );
    const seconds = (performance.now() - began) / 1000;
    const cpuS = parts.reduce((sum, part) => sum + part.cpuS, 0);
    return { seconds, cpuS, numbers: parts.flatMap(({ numbers }) => numbers) };
  } finally {
    await Promise.all(loops.map((loop) => loop.stop()));
  }
}

/** A process that loads the simulator once. */
class BareLoop {
  readonly #child: ChildProcess = fork(fileURLToPath(compiled('./bare-loop-process.js', import.meta.url)), {
    execArgv: [],
  });

  async run(points: ToBareLoop): Promise<FromBareLoop> {
    const failed = once(this.#child, 'exit').then(([code]) => {
      throw new Error(`the bare loop ended (${code})`);
    });
    failed.catch(() => undefined);
    this.#child.send(points);
    const [message] = (await Promise.race([once(this.#child, 'message'), failed])) as [FromBareLoop];
    return message;
  }

  async stop(): Promise<void> {
    if (this.#child.exitCode !== null) return;
    this.#child.disconnect();
    await once(this.#child, 'exit');
  }
}
