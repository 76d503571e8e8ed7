/** The load generator, in a process of its own, so that its resource use is not measured. */
import { once } from 'node:events';
import type { Sample } from '../workload.js';
import { LoadClient, type LoadClientOptions } from './load-client.js';
import { LOADS, type LoadName } from './loads.js';

/** The first message; after each mark the process waits for another message. */
export interface LoadOrder extends LoadClientOptions {
  readonly load: LoadName;
  readonly count: number;
}

export type FromLoad =
  | { readonly kind: 'begin' | 'end' }
  | { readonly kind: 'done'; readonly samples: readonly Sample[] }
  | { readonly kind: 'failed'; readonly why: string };

const say = (message: FromLoad) => process.send?.(message);

async function mark(kind: 'begin' | 'end'): Promise<void> {
  say({ kind });
  await once(process, 'message');
}

process.once('message', async ({ load, count, ...options }: LoadOrder) => {
  const client = new LoadClient(options);
  try {
    const samples = await LOADS[load](client, count, { begin: () => mark('begin'), end: () => mark('end') });
    say({ kind: 'done', samples });
  } catch (error) {
    say({ kind: 'failed', why: error instanceof Error ? `${error.stack}` : `${error}` });
  } finally {
    client.close();
  }
});
// Ends with its parent process.
process.on('disconnect', () => process.exit());
