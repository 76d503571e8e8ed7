import { type Job, Queue, QueueEvents, Worker } from 'bullmq';
import { compiled } from '../compiled.js';
import type { LoadTask } from '../load/dialects.js';
import { serveFront } from './front.js';
import { execute, type PeerRoles, SANDBOXED } from './role.js';

const QUEUE = 'bench';
/** Number of ends that are kept for the clients that wait for them. */
const EVENTS_KEPT = 100_000;

/** BullMQ runs tasks without a priority before all others; a priority needs a sorted set. */
const PRIORITY = { HIGHEST: 1, OTHER: 10 } as const;

const connectionTo = (port: number) => ({ host: '127.0.0.1', port, maxRetriesPerRequest: null });

export const bullmqRoles: PeerRoles = {
  async front({ serverPort }) {
    const connection = connectionTo(serverPort);
    const queue = new Queue<LoadTask>(QUEUE, { connection, streams: { events: { maxLen: EVENTS_KEPT } } });
    const events = new QueueEvents(QUEUE, { connection });
    await Promise.all([queue.waitUntilReady(), events.waitUntilReady()]);
    const { port, ended } = await serveFront({
      create: async (task) => {
        const { priority } = task;
        const options =
          priority === undefined
            ? {}
            : { priority: priority === 'HIGHEST' ? PRIORITY.HIGHEST : PRIORITY.OTHER };
        const { id } = await queue.add(task.kind, task, options);
        return id ?? '';
      },
      read: async (id) => {
        const job = (await queue.getJob(id)) as Job<LoadTask> | undefined;
        if (!job) return undefined;
        if (job.finishedOn === undefined) return { state: 'PENDING' };
        if (job.failedReason) return { state: 'FAILED', result: job.failedReason };
        return { state: 'COMPLETED', result: job.returnvalue };
      },
      countEnded: async () => {
        const { completed = 0, failed = 0 } = await queue.getJobCounts('completed', 'failed');
        return completed + failed;
      },
    });
    events.on('completed', ({ jobId }) => ended(jobId));
    events.on('failed', ({ jobId }) => ended(jobId));
    return port;
  },

  async worker({ serverPort, slots, variant }, go) {
    const processor =
      variant === SANDBOXED
        ? compiled('./sandboxed-process.js', import.meta.url)
        : ({ data }: Job<LoadTask>) => execute(data.kind);
    const worker = new Worker<LoadTask>(QUEUE, processor, {
      connection: connectionTo(serverPort),
      concurrency: slots,
      autorun: false,
    });
    worker.on('error', (error) => console.error(error));
    await worker.waitUntilReady();
    await go();
    await worker.run();
  },
};
