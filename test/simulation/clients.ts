/** The clients of the simulated world: they create tasks, wait for them, cancel and remove them. */
import { ANYBODY } from '@workbench-hub/hub/core/access';
import type { TaskRequest } from '@workbench-hub/hub/engine/tasks/new-task';
import type { Classifier } from '@workbench-hub/shared/domain/classifier';
import type { NamedFileRef } from '@workbench-hub/shared/domain/job';
import { PRIORITIES } from '@workbench-hub/shared/domain/priority';
import { Input } from './inputs.js';
import type { Invariants } from './invariants.js';
import type { Receivers } from './receivers.js';
import type { SimulatedHubs } from './simulated-hubs.js';
import type { World } from './world.js';

/** Number of different scripts; tasks share them. */
const SCRIPTS = 3;

export class Clients {
  readonly #world: World;
  readonly #hubs: SimulatedHubs;
  readonly #invariants: Invariants;
  readonly #receivers: Receivers;
  /** Classifiers of tasks; some fit no instance. */
  readonly #requirements: readonly (readonly Classifier[])[];
  readonly #inputs: readonly Input[];
  readonly #created: { readonly id: string; readonly type: TaskRequest['job']['type'] }[] = [];

  constructor(
    world: World,
    hubs: SimulatedHubs,
    invariants: Invariants,
    requirements: readonly (readonly Classifier[])[],
    receivers: Receivers,
  ) {
    this.#world = world;
    this.#hubs = hubs;
    this.#invariants = invariants;
    this.#requirements = requirements;
    this.#receivers = receivers;
    this.#inputs = ['mesh', 'loads'].map((name) => new Input(name, world, hubs));
  }

  /** Creates this number of tasks within this time, and uses them as clients do. */
  start(tasks: number, withinMs: number): void {
    const world = this.#world;
    for (const input of this.#inputs) input.start();
    for (let count = 0; count < tasks; count++) {
      // Some arrive together.
      const atMs = world.happens(0.3) ? world.between(1, 5) * 1000 : world.between(0, withinMs);
      world.after(atMs, () => this.#create());
    }
  }

  /** Digests of all blobs that an input has referred to. */
  get inputDigests(): string[] {
    return this.#inputs.flatMap(({ named }) => [...named]);
  }

  /** The server has lost what it had acknowledged; `digestOf` tells what a name of the input storage stands for now. */
  durableLost(digestOf: (name: string) => string | null): void {
    for (const input of this.#inputs) input.wentBackTo(digestOf(input.name));
  }

  /** Repeats the requests that an ended hub left without a response. */
  comeBack(): void {
    const world = this.#world;
    for (const { id, type } of this.#created) {
      if (world.happens(0.2)) world.after(world.between(0, 100), () => this.#look(id));
      if (world.happens(0.2)) world.after(world.between(0, 1000), () => this.#poll(id, type));
    }
  }

  /** Cancels a task, and retries until that succeeds. */
  cancelForSure(id: string): void {
    this.#cancel(id, true);
  }

  #create(): void {
    const world = this.#world;
    const isBatch = world.happens(0.6);
    const timeLimitS = world.happens(0.3) ? world.between(1, 60) : null;
    const classifiers: Classifier[] = [
      ...world.random.of(this.#requirements),
      { type: 'PRIORITY', value: world.random.of(PRIORITIES) },
    ];
    const durationS = world.happens(0.2) ? world.between(60, 300) : world.between(0, 20);
    const inputs = isBatch ? this.#inputs.filter(() => world.happens(0.3)) : [];
    const script = Buffer.from(`script ${world.random.below(SCRIPTS)}`);
    const notify = this.#receivers.address();
    // The rest of a request takes a while to arrive.
    const briefMs = world.happens(0.3) ? world.between(1, 100) : 0;
    // Some take longer than other hubs need to remove a blob, and halts of this one.
    const takesMs = this.#hubs.areSeveral && briefMs > 50 ? 200 * briefMs : briefMs;
    for (const input of inputs) {
      if (takesMs > 0 && world.happens(0.5)) world.after(world.between(0, takesMs), () => input.change());
    }
    this.#hubs.request(
      async ({ tasks, storage }, files, process) => {
        const hold = files.hold();
        const additionalFiles: NamedFileRef[] = [];
        try {
          for (const input of inputs) {
            const file = await input.find(storage, hold);
            if (file) additionalFiles.push({ path: input.name, ...file });
          }
          if (takesMs > 0) await process.wait(takesMs);
          const job: TaskRequest['job'] = isBatch
            ? {
                type: 'EXECUTE_BATCH_JOB',
                model: null,
                scripts: [await files.put(script, hold)],
                additionalFiles,
                variables: [],
              }
            : { type: 'SIMULATE_WORK', durationS };
          const request = { name: null, creator: null, classifiers, timeLimitS, job };
          const task = await tasks.create(notify === undefined ? request : { ...request, notify });
          hold.release();
          return task;
        } catch (error) {
          hold.abandon();
          throw error;
        }
      },
      ({ id }) => {
        world.tell('client', `is told that ${id} was created`);
        this.#invariants.created(id);
        if (notify !== undefined) this.#receivers.created(id);
        this.#created.push({ id, type: isBatch ? 'EXECUTE_BATCH_JOB' : 'SIMULATE_WORK' });
        this.#goOnWith(id, isBatch ? 'EXECUTE_BATCH_JOB' : 'SIMULATE_WORK');
      },
      ({ code }) => world.tell('client', `is refused a task: ${code}`),
    );
  }

  #goOnWith(id: string, type: TaskRequest['job']['type']): void {
    const world = this.#world;
    if (world.happens(0.7)) world.after(world.between(0, 60_000), () => this.#poll(id, type));
    if (world.happens(0.2))
      world.after(world.between(0, 120_000), () => this.#cancel(id, world.happens(0.6)));
    if (world.happens(0.2)) world.after(world.between(0, 300_000), () => this.#remove(id));
  }

  #poll(id: string, type: TaskRequest['job']['type']): void {
    const world = this.#world;
    const client = new AbortController();
    if (world.happens(0.2)) world.after(world.between(0, 10_000), () => client.abort());
    this.#hubs.request(
      ({ tasks }) => tasks.awaitEnd(id, type, world.between(0, 60_000), () => client.signal),
      (task) => {
        world.tell('client', `is told that ${id} is ${task.status}`);
        this.#invariants.tellsEnd(task);
      },
    );
    if (world.happens(0.5)) world.after(world.between(1000, 60_000), () => this.#poll(id, type));
  }

  #look(id: string): void {
    this.#hubs.request(
      ({ tasks }) => tasks.get(id),
      (task) => {
        this.#world.tell('client', `sees that ${id} is ${task.status}`);
        this.#invariants.tellsEnd(task);
      },
    );
  }

  #cancel(id: string, force: boolean): void {
    const world = this.#world;
    let answered = false;
    this.#hubs.request(
      ({ tasks }) => {
        this.#invariants.mayBeCanceled(id, force);
        return tasks.cancel(id, force, ANYBODY);
      },
      () => {
        answered = true;
        world.tell('client', `is told that ${id} was canceled`);
        this.#invariants.tellsCanceled(id);
      },
      ({ code }) => {
        answered = code === 'TASK_NOT_CANCELABLE' || code === 'TASK_NOT_FOUND';
      },
    );
    // Another client looks at the same time.
    if (world.happens(0.8)) world.after(world.between(0, 10), () => this.#look(id));
    if (!world.turbulent) world.after(10_000, () => !answered && this.#cancel(id, force));
  }

  #remove(id: string): void {
    this.#hubs.request(
      ({ tasks }) => {
        this.#invariants.mayBeRemoved(id);
        return tasks.remove(id, ANYBODY);
      },
      () => this.#world.tell('client', `is told that ${id} was removed`),
    );
  }
}
