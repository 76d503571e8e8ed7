/** Receivers of webhooks in the simulated world, and an audit of what they are told. */
import type {
  SendOutcome,
  WebhookMessage,
  WebhookSender,
} from '@workbench-hub/hub/core/ports/webhook-sender';
import type { Task } from '@workbench-hub/hub/core/task';
import type { TaskState } from '@workbench-hub/hub/store/sqlite/fixtures/database-in-memory';
import { type SeededRandom, seededRandom } from '../support/random.js';
import type { Process } from './process.js';
import { ENDED } from './task-states.js';
import type { World } from './world.js';

/** In every ninth world tasks name addresses. Random numbers of its own keep what else happens there. */
const WORLDS = 9;
const WORLD = 5;

export const RECEIVERS = ['https://ci.example.org', 'https://chat.example.org'] as const;

const DOWN = { kind: 'FAILED', receiver: 'DOWN', isFinal: false, retryAfterMs: 0 } as const;
const NO_RESPONSE: SendOutcome = { ...DOWN, fault: 'did not respond within 10 s' };
const BUSY: SendOutcome = { ...DOWN, fault: 'responded with 503', retryAfterMs: 5000 };
const DISLIKED: SendOutcome = { ...DOWN, fault: 'responded with 400', receiver: 'UP' };

/** Listener to what receivers are told. */
interface Audit {
  /** Whether acknowledged writes to the task were lost, about which nothing is promised. */
  isUndone(taskId: string): boolean;
  tellsEnd(task: Pick<Task, 'id' | 'status' | 'endedAtMs'>): void;
}

export class Receivers {
  /** Whether there are any in this world. */
  readonly happen: boolean;
  readonly #world: World;
  readonly #audit: Audit;
  readonly #random: SeededRandom;
  /** Tasks that were created with an address. */
  readonly #named = new Set<string>();
  /** Tasks of whose end a receiver was told. */
  readonly #told = new Set<string>();

  constructor(seed: number, world: World, audit: Audit) {
    this.happen = seed % WORLDS === WORLD;
    this.#world = world;
    this.#audit = audit;
    this.#random = seededRandom(-seed);
  }

  /** Address of a new task; undefined for none. */
  address(): string | undefined {
    return this.happen && this.#random.oneIn(2) ? `${this.#random.of(RECEIVERS)}/hook` : undefined;
  }

  /** A task with an address was accepted with 201. */
  created(taskId: string): void {
    this.#named.add(taskId);
  }

  /** Tasks whose end nobody was told, among those that have ended or are gone. */
  untold(tasks: readonly TaskState[]): string[] {
    const open = new Set(tasks.filter(({ status }) => !ENDED.has(status)).map(({ id }) => id));
    return [...this.#named].filter((id) => !this.#told.has(id) && !open.has(id) && !this.#audit.isUndone(id));
  }

  /** Checks that each end was told, after a long time without faults. */
  check(tasks: readonly TaskState[]): void {
    for (const id of this.untold(tasks))
      this.#world.violated('each end is told', `no receiver was told that ${id} has ended`);
  }

  present({ id, status, endedAtMs }: Task): string {
    return JSON.stringify({ id, status, endedAtMs });
  }

  /** Sends in the name of this process of the hub. */
  senderOf(process: Process): WebhookSender {
    let close: () => void = () => undefined;
    const closed = new Promise<SendOutcome>((resolve) => {
      close = () => resolve(NO_RESPONSE);
    });
    return { send: (message) => Promise.race([this.#send(process, message), closed]), close };
  }

  async #send(process: Process, { url, id, body }: WebhookMessage): Promise<SendOutcome> {
    const random = this.#random;
    const trouble = this.#world.turbulent ? random.below(6) : 5;
    await process.wait(random.below(trouble === 0 ? 10_000 : 50));
    if (trouble === 1) return NO_RESPONSE;
    if (trouble === 2) return BUSY;
    if (trouble === 3) return DISLIKED;
    const { id: taskId, status, endedAtMs } = JSON.parse(body) as Pick<Task, 'id' | 'status' | 'endedAtMs'>;
    this.#world.tell('receiver', `${url} is told that ${taskId} is ${status} (${id})`);
    this.#told.add(taskId);
    this.#audit.tellsEnd({ id: taskId, status, endedAtMs });
    // Its response takes a while, and may be lost.
    await process.wait(random.below(50));
    return trouble === 4 ? NO_RESPONSE : { kind: 'DELIVERED' };
  }
}
