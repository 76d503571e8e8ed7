/** Clients that follow all tasks over cut connections and killed hubs miss nothing, and are never told to begin anew: one that reads
 *  as fast as it can and is cut off often, and one that reads slowly. FOLLOWED_EVENTS=full runs it at its full size. */

import { readFileSync } from 'node:fs';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { FakeAgent, type FakeAgentSetup } from '../support/agents/fake-agent.js';
import { eventually } from '../support/eventually.js';
import { EventReader } from '../support/interface/event-reader.js';
import { restClient } from '../support/interface/rest-client.js';
import { endPrograms, type HubProgram, startHub } from '../support/programs/programs.js';
import { seededRandom } from '../support/random.js';
import { type TemporaryFolder, temporaryFolder } from '../support/temporary-folder.js';

const IS_FULL = process.env['FOLLOWED_EVENTS'] === 'full';
const TASKS = IS_FULL ? 3600 : 300;
const CUTS = IS_FULL ? 50 : 25;
const KILLS = IS_FULL ? 5 : 3;
const LEAST_CHANGES = IS_FULL ? 10_000 : 700;
/** Time that the slow client takes for an event. */
const SLOW_MS = 5;
const TIMEOUT_MS = IS_FULL ? 1_200_000 : 120_000;

let folder: TemporaryFolder;
let hub: HubProgram;
beforeEach(async () => {
  folder = await temporaryFolder();
  hub = await startHub(folder.path);
});
afterEach(async () => {
  await endPrograms();
  await folder.remove();
});

/** A client that knows of each task what it was told last, and goes on at the last event whenever it is cut off. */
class Follower {
  readonly known = new Map<string, unknown>();
  resets = 0;
  connections = 0;
  readonly #pauseMs: number;
  #lastId = '';
  #reader: EventReader | undefined;
  #isDone = false;

  constructor(pauseMs = 0) {
    this.#pauseMs = pauseMs;
  }

  async run(): Promise<void> {
    while (!this.#isDone) {
      try {
        await this.#listen();
      } catch {
        // The hub is away, or the connection was cut.
        await new Promise((resolve) => setTimeout(resolve, 50));
      }
    }
  }

  /** Resolves when it is connected again. */
  async cut(): Promise<void> {
    const before = this.connections;
    this.#reader?.close();
    await eventually(() => this.connections > before);
  }

  stop(): void {
    this.#isDone = true;
    this.#reader?.close();
  }

  async #listen(): Promise<void> {
    const options = this.#lastId === '' ? {} : { lastEventId: this.#lastId };
    const reader = await EventReader.open({ address: hub.baseUrl }, '/api/x/events', options);
    this.#reader = reader;
    this.connections++;
    for (let event = await reader.next(); event; event = await reader.next()) {
      this.#lastId = event.id;
      if (event.type === 'task') this.known.set(String(event.data['id']), event.data['status']);
      if (event.type === 'removed') this.known.delete(String(event.data['id']));
      if (event.type === 'reset') this.resets++;
      if (this.#pauseMs > 0) await new Promise((resolve) => setTimeout(resolve, this.#pauseMs));
    }
  }
}

/** Ends each attempt in its own way. */
const onHeard: NonNullable<FakeAgentSetup['onHeard']> = function (message) {
  if (message.type !== 'assign') return;
  const { ref } = message;
  this.report(ref, ref.attempt === 1 && ref.taskId.endsWith('0') ? 'INSTANCE_LOST' : 'OK');
};

async function join(): Promise<FakeAgent> {
  const token = readFileSync(hub.tokenFile, 'utf8').trim();
  const instances = [{ id: 'a' }, { id: 'b' }, { id: 'c' }];
  return FakeAgent.join({ address: hub.baseUrl, token }, { instances, onHeard });
}

interface Listed {
  readonly id: string;
  readonly status: string;
}

/** All tasks. */
async function listed(after?: string): Promise<Listed[]> {
  const path = `/api/x/tasks?limit=2000${after === undefined ? '' : `&after=${after}`}`;
  const { tasks, next } = (await restClient(hub.baseUrl).call(path)).json() as {
    tasks: Listed[];
    next?: string;
  };
  return next === undefined ? tasks : [...tasks, ...(await listed(next))];
}

/** Number of changes that the hub has logged; on PostgreSQL, of transactions that its server has begun. */
async function changes(): Promise<number> {
  const { cursor } = (await restClient(hub.baseUrl).call('/api/x/tasks')).json() as { cursor: string };
  return Number(/\.t?(\d+)/.exec(cursor)?.[1]);
}

it(
  `over ${CUTS} cuts and ${KILLS} kills of the hub, with ${TASKS} tasks`,
  async () => {
    const random = seededRandom(17);
    const follower = new Follower();
    const slow = new Follower(SLOW_MS);
    const following = [follower.run(), slow.run()];
    await eventually(() => follower.connections > 0 && slow.connections > 0);
    const before = await changes();
    let agent = await join();
    const client = () => restClient(hub.baseUrl);
    const created: string[] = [];
    let kills = 0;
    for (let at = 0; at < TASKS; at++) {
      created.push(await client().createSimulateWork({ duration: 0 }));
      if (random.oneIn(3)) {
        const victim = random.of(created);
        const verb = random.oneIn(2) ? 'cancel' : 'delete';
        await client().call(`/api/2.0/workbench/task/${victim}/${verb}`, { method: 'DELETE' });
      }
      if (at % Math.floor(TASKS / CUTS) === 5) await follower.cut();
      if (at % Math.floor(TASKS / KILLS) !== 50) continue;
      kills++;
      await hub.kill();
      hub = await startHub(folder.path, {}, Number(new URL(hub.baseUrl).port));
      agent = await join();
    }
    const final = await eventually(async () => {
      const tasks = await listed();
      const open = tasks.filter(({ status }) => status === 'WAITING' || status === 'RUNNING');
      return open.length === 0 && new Map(tasks.map(({ id, status }) => [id, status]));
    });
    await eventually(() => {
      expect(follower.known).toEqual(final);
      expect(slow.known).toEqual(final);
      return true;
    });
    follower.stop();
    slow.stop();
    await Promise.all(following);
    const told = (await changes()) - before;
    if (IS_FULL) console.info(`${told} changes, ${follower.connections - 1} new connections, ${kills} kills`);
    expect(told).toBeGreaterThan(LEAST_CHANGES);
    expect(final.size).toBeGreaterThan(TASKS / 2);
    expect(kills).toBe(KILLS);
    expect(follower.connections).toBeGreaterThan(CUTS);
    expect([follower.resets, slow.resets]).toEqual([0, 0]);
    expect(slow.connections).toBeGreaterThan(KILLS);
    await agent.leave();
  },
  TIMEOUT_MS,
);
