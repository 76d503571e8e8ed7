/** A client that follows all tasks over cut connections and killed hubs misses nothing, and is never told to begin anew. */

import { readFileSync } from 'node:fs';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { EventReader } from '../support/event-reader.js';
import { eventually } from '../support/eventually.js';
import { FakeAgent, type FakeAgentSetup } from '../support/fake-agent.js';
import { endPrograms, type HubProgram, startHub } from '../support/programs.js';
import { seededRandom } from '../support/random.js';
import { restClient } from '../support/rest-client.js';
import { type TemporaryFolder, temporaryFolder } from '../support/temporary-folder.js';

const TASKS = 300;
const CUTS = 25;
const KILLS = 3;

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

/** A client that keeps the latest event of each task, and continues at the last event whenever it is cut off. */
class Follower {
  readonly known = new Map<string, unknown>();
  resets = 0;
  connections = 0;
  #lastId = '';
  #reader: EventReader | undefined;
  #isDone = false;

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

it(`over ${CUTS} cuts and ${KILLS} kills of the hub, with ${TASKS} tasks`, async () => {
  const random = seededRandom(17);
  const follower = new Follower();
  const following = follower.run();
  await eventually(() => follower.connections > 0);
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
    const { tasks } = (await client().call('/api/x/tasks?limit=2000')).json() as {
      tasks: { id: string; status: string }[];
    };
    const open = tasks.filter(({ status }) => status === 'WAITING' || status === 'RUNNING');
    return open.length === 0 && new Map(tasks.map(({ id, status }) => [id, status]));
  });
  await eventually(() => {
    expect(follower.known).toEqual(final);
    return true;
  });
  follower.stop();
  await following;
  expect(final.size).toBeGreaterThan(TASKS / 2);
  expect(kills).toBe(KILLS);
  expect(follower.connections).toBeGreaterThan(CUTS);
  expect(follower.resets).toBe(0);
  await agent.leave();
}, 120_000);
