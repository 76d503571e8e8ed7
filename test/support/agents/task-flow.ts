/** Tasks that a test creates without end, and the agents that carry them out at once. */

import { type AttemptRef, attemptKey } from '@workbench-hub/shared/domain/task';
import { expect } from 'vitest';
import { eventually } from '../eventually.js';
import { FakeAgent } from './fake-agent.js';

const CREATE = '/api/2.0/workbench/task/simulate-work/create';
const OPEN = '/api/2.0/workbench/task/list?status=WAITING&status=RUNNING&size=1';

/** Address of a hub, for clients. */
interface Served {
  readonly address: string;
}

interface Joinable extends Served {
  readonly token: string;
}

/** Time of a task on its instance. */
const WORK_MS = 5;
const CREATE_EVERY_MS = 10;
const RESPONSE_LIMIT_MS = 20_000;

/** Agents that end each attempt after a moment, and note what they were given. */
export class Workers {
  /** Attempts in the order in which they were assigned. */
  readonly assigned: AttemptRef[] = [];
  /** Assignments that must not be. */
  readonly violations: string[] = [];
  readonly #running = new Set<string>();
  readonly #seen = new Set<string>();

  /** Lets an agent with two instances join. */
  join(hub: Joinable, id: string): Promise<FakeAgent> {
    const workers = this;
    return FakeAgent.join(hub, {
      id,
      instances: [{ id: `${id}-1` }, { id: `${id}-2` }],
      onHeard(message) {
        if (message.type === 'assign') workers.#take(this, message.ref);
      },
    });
  }

  #take(agent: FakeAgent, ref: AttemptRef): void {
    this.assigned.push(ref);
    if (this.#running.has(ref.instanceId)) this.violations.push(`${ref.instanceId} got a second task`);
    if (this.#seen.has(attemptKey(ref))) this.violations.push(`${attemptKey(ref)} was assigned twice`);
    this.#running.add(ref.instanceId);
    this.#seen.add(attemptKey(ref));
    setTimeout(() => {
      this.#running.delete(ref.instanceId);
      agent.report(ref, 'OK');
    }, WORK_MS);
  }
}

/** Creates tasks at several hubs in turn until it is ended. */
export class TaskFlow {
  /** Tasks that were accepted with 201. */
  readonly ids: string[] = [];
  /** Statuses of other responses; 0 for none. */
  readonly refusals: number[] = [];
  readonly #hubs: readonly Served[];
  readonly #work: Promise<void>;
  #isEnded = false;

  constructor(hubs: readonly Served[]) {
    this.#hubs = hubs;
    this.#work = this.#createAll();
  }

  /** Waits for this many further tasks. */
  async more(count: number): Promise<void> {
    const wanted = this.ids.length + count;
    await eventually(() => this.ids.length >= wanted);
  }

  /** Creates no more; resolves with the tasks that were accepted. */
  async end(): Promise<readonly string[]> {
    this.#isEnded = true;
    await this.#work;
    return this.ids;
  }

  async #createAll(): Promise<void> {
    for (let number = 0; !this.#isEnded; number++) {
      const hub = this.#hubs[number % this.#hubs.length] as Served;
      const id = await createTask(hub).catch(() => 0);
      if (typeof id === 'string') this.ids.push(id);
      else this.refusals.push(id);
      await new Promise((resolve) => setTimeout(resolve, CREATE_EVERY_MS));
    }
  }
}

/** Creates a task; resolves with its id, or the status of the refusal. Rejects without a response. */
export async function createTask({ address }: Served): Promise<string | number> {
  const response = await fetch(address + CREATE, {
    method: 'POST',
    body: JSON.stringify({ duration: 0 }),
    signal: AbortSignal.timeout(RESPONSE_LIMIT_MS),
  });
  const body = (await response.json()) as { id: string };
  return response.status === 201 ? body.id : response.status;
}

/** Waits until all tasks have ended, as a hub shows them. */
export async function allEnded({ address }: Served, timeoutMs?: number): Promise<void> {
  await eventually(async () => {
    const response = await fetch(address + OPEN);
    expect(response.status).toBe(200);
    return ((await response.json()) as { totalElements: number }).totalElements === 0;
  }, timeoutMs);
}
