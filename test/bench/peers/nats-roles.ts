import {
  AckPolicy,
  type JetStreamClient,
  type JsMsg,
  jetstream,
  jetstreamManager,
  RetentionPolicy,
} from '@nats-io/jetstream';
import { connect } from '@nats-io/transport-node';
import type { LoadTask } from '../load/dialects.js';
import { type StoredTask, serveFront } from './front.js';
import { execute, type PeerRoles } from './role.js';

const TASKS = 'tasks';
const RESULTS = 'results';
/** A subject for each priority, which the worker takes in this order. */
const SUBJECTS = { HIGHEST: `${TASKS}.highest`, OTHER: `${TASKS}.other` } as const;
const PRIORITIES = ['HIGHEST', 'OTHER'] as const;
/** Tasks of each priority that the worker has taken. */
const MAX_TAKEN = 200;

/** A message in the stream of results. */
interface Result {
  readonly id: string;
  readonly result: unknown;
}

/** Tasks that the worker has taken and not begun. */
class Taken {
  readonly #byRank: readonly JsMsg[][] = PRIORITIES.map(() => []);
  readonly #idle: ((task: JsMsg) => void)[] = [];

  add(rank: number, task: JsMsg): void {
    const begin = this.#idle.shift();
    if (begin) begin(task);
    else this.#byRank[rank]?.push(task);
  }

  async next(): Promise<JsMsg> {
    for (const tasks of this.#byRank) {
      const task = tasks.shift();
      if (task) return task;
    }
    return new Promise((resolve) => this.#idle.push(resolve));
  }
}

async function openStreams(port: number): Promise<JetStreamClient> {
  const connection = await connect({ servers: `127.0.0.1:${port}`, reconnect: false });
  const manager = await jetstreamManager(connection);
  await manager.streams.add({
    name: TASKS,
    subjects: [`${TASKS}.*`],
    retention: RetentionPolicy.Workqueue,
  });
  await manager.streams.add({ name: RESULTS, subjects: [RESULTS] });
  for (const priority of PRIORITIES) {
    await manager.consumers.add(TASKS, {
      durable_name: priority,
      filter_subject: SUBJECTS[priority],
      ack_policy: AckPolicy.Explicit,
      max_ack_pending: MAX_TAKEN,
    });
  }
  return jetstream(connection);
}

export const natsRoles: PeerRoles = {
  async front({ serverPort }) {
    const streams = await openStreams(serverPort);
    const known = new Map<string, StoredTask>();
    const { port, ended } = await serveFront({
      create: async (task) => {
        const subject = SUBJECTS[task.priority === 'HIGHEST' ? 'HIGHEST' : 'OTHER'];
        const { seq } = await streams.publish(subject, JSON.stringify(task));
        const id = `${seq}`;
        // The result may arrive before the reply.
        if (!known.has(id)) known.set(id, { state: 'PENDING' });
        return id;
      },
      read: async (id) => known.get(id),
    });
    const results = await streams.consumers.get(RESULTS);
    await results.consume({
      callback: (message) => {
        const { id, result } = message.json<Result>();
        known.set(id, { state: 'COMPLETED', result });
        ended(id);
      },
    });
    return port;
  },

  async worker({ serverPort, slots }, go) {
    const streams = await openStreams(serverPort);
    const taken = new Taken();
    await go();
    for (const [rank, priority] of PRIORITIES.entries()) {
      const tasks = await streams.consumers.get(TASKS, priority);
      await tasks.consume({ max_messages: MAX_TAKEN, callback: (task) => taken.add(rank, task) });
    }
    const work = async () => {
      for (;;) {
        const task = await taken.next();
        const result: Result = { id: `${task.seq}`, result: await execute(task.json<LoadTask>().kind) };
        await streams.publish(RESULTS, JSON.stringify(result));
        task.ack();
      }
    };
    await Promise.all(Array.from({ length: slots }, work));
  },
};
