/** Starts the load generator, and looks at the processes when the measured part begins and when it ends. */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { compiled } from '../compiled.js';
import type { Sample } from '../workload.js';
import type { FromLoad, LoadOrder } from './load-process.js';

export interface LoadMarks {
  begin(loadPid: number): void;
  end(loadPid: number): void;
}

export async function runLoad(
  order: LoadOrder,
  marks: LoadMarks = { begin: () => undefined, end: () => undefined },
): Promise<readonly Sample[]> {
  const child = fork(fileURLToPath(compiled('./load-process.js', import.meta.url)), { execArgv: [] });
  try {
    return await new Promise((resolve, reject) => {
      child.once('exit', (code) => reject(new Error(`the load generator ended (${code})`)));
      child.on('message', (message: FromLoad) => {
        if (message.kind === 'done') return resolve(message.samples);
        if (message.kind === 'failed') return reject(new Error(message.why));
        marks[message.kind](child.pid ?? 0);
        return child.send('go on');
      });
      child.send(order);
    });
  } finally {
    if (child.exitCode === null) {
      child.disconnect();
      await once(child, 'exit');
    }
  }
}
