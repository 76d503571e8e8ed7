/**
 * A hub that is killed at each step of the life of an allocation, and followed by another one on the same store and workload manager. A step is a call of
 * the store or of the workload manager: the hub is killed before it is carried out, or after it and before its answer is known.
 */
import { ANYBODY } from '@workbench-hub/hub/core/access';
import type { AttemptRef } from '@workbench-hub/shared/domain/task';
import { describe, expect, it } from 'vitest';
import { create, engine, engineForEachTest, join, restart } from '../support/engine/engine-for-each-test.js';
import { manager, pass, startWith } from '../support/engine/engine-with-hosts.js';
import type { SocketlessAgent } from '../support/engine/running-engine.js';

engineForEachTest();

/** Steps of an allocation whose host works, in order. `=` and a state: the row gets this state; SAME: only its fields change. */
const STEPS_OF_A_HOST = [
  ...['add', 'submit', '=SUBMITTED', 'jobs', '=QUEUED', '=STARTED', '=JOINED'],
  ...['drain', '=DRAINING', 'cancel', 'remove', '=ENDED'],
];
/** The same of one that is canceled while it waits. */
const STEPS_IN_THE_QUEUE = [
  ...['add', 'submit', '=SUBMITTED', 'jobs', '=QUEUED', 'drain', '=DRAINING', 'cancel', 'remove', '=ENDED'],
];
const MOMENTS = ['before', 'after'] as const;

interface Point {
  readonly step: string;
  readonly moment: (typeof MOMENTS)[number];
}

type Call = (...args: never[]) => Promise<unknown>;

/** Time between two looks of the world at its jobs. */
const LOOK_MS = 1000;
/** Time in which a life ends, with a hub that waits a minute for agents to join again. */
const LIFE_MS = 240_000;
/** Time in which a second allocation would come. */
const AFTER_MS = 10_000;
/** Looks after which the hub has seen that a job waits, and that it runs. */
const LOOKS_TO_START = 8;
const LOOKS_TO_JOIN = 4;

/** Calls of a hub, which stop at one point as if it were killed there. */
class Steps {
  /** Those that were carried out, each once. */
  readonly seen: string[] = [];
  readonly #point: Point | undefined;
  isReached = false;
  #isKilled = false;
  #cutOff: () => void = () => undefined;

  constructor(point?: Point) {
    this.#point = point;
  }

  /** Has the method of an object stop at the point. `isOwn`: the object is the hub's own, and does nothing after it was killed. */
  watch<Method extends string>(
    target: Record<Method, Call>,
    method: Method,
    { isOwn, stepOf = () => method }: { readonly isOwn: boolean; stepOf?(...args: never[]): string },
  ): void {
    const real = target[method].bind(target) as Call;
    target[method] = async (...args) => {
      const step = stepOf(...args);
      if (isOwn && this.#isKilled) throw new Error('the hub was killed');
      if (this.#isAt(step, 'before')) return this.#never();
      const answer = await real(...args);
      if (!this.seen.includes(step)) this.seen.push(step);
      return this.#isAt(step, 'after') ? this.#never() : answer;
    };
  }

  #isAt(step: string, moment: Point['moment']): boolean {
    return !this.isReached && step === this.#point?.step && moment === this.#point.moment;
  }

  /** A call whose answer the hub does not hear while it lives. */
  #never(): Promise<never> {
    this.isReached = true;
    return new Promise((_, reject) => {
      this.#cutOff = () => reject(new Error('the hub was killed'));
    });
  }

  /** Nothing that the hub still does has an effect. */
  kill(): void {
    this.#isKilled = true;
    this.#cutOff();
  }
}

/** Stops the hub of the running test at the point. */
function watch(point?: Point): Steps {
  const steps = new Steps(point);
  const { store, accounts } = engine;
  const states = new Map<string, string>();
  const stepOfChange = ({ id, state }: { readonly id: string; readonly state: string }) => {
    const isSame = states.get(id) === state;
    states.set(id, state);
    return isSame ? 'SAME' : `=${state}`;
  };
  const rows = store.allocations as never;
  steps.watch(rows, 'add', { isOwn: true });
  steps.watch(rows, 'change', { isOwn: true, stepOf: stepOfChange as never });
  steps.watch(accounts.agentDrains as never, 'drain', { isOwn: true });
  for (const method of ['submit', 'jobs', 'cancel', 'remove'])
    steps.watch(manager as never, method, { isOwn: false });
  return steps;
}

/** Ends the hub without another step, and starts the next one. */
async function killAndFollow(steps: Steps): Promise<void> {
  const followed = restart();
  steps.kill();
  await followed;
}

/** An agent, and the attempts that it has not ended. */
interface AgentOfJob {
  readonly agent: SocketlessAgent;
  readonly running: readonly AttemptRef[];
}

/** Jobs of the workload manager: they start after a while, and their agents join, run their tasks and end with them. */
class Jobs {
  readonly #agents = new Map<string, AgentOfJob>();
  readonly #looks = { waiting: 0, running: 0 };

  async look(mayStart: boolean): Promise<void> {
    const waiting = manager.jobList.filter(({ state }) => state === 'QUEUED');
    this.#looks.waiting = waiting.length === 0 ? 0 : this.#looks.waiting + 1;
    if (mayStart && this.#looks.waiting > LOOKS_TO_START)
      for (const { name } of waiting) manager.run(name, 3_600_000);
    for (const [name, { agent }] of this.#agents) {
      if (manager.live.includes(name)) continue;
      this.#agents.delete(name);
      await agent.disconnect();
    }
    const running = manager.jobList.filter(({ state }) => state === 'RUNNING');
    this.#looks.running = running.length === 0 ? 0 : this.#looks.running + 1;
    if (this.#looks.running > LOOKS_TO_JOIN) for (const { name } of running) await this.#runs(name);
  }

  /** The agents join the next hub, with what they run. */
  async joinAgain(): Promise<void> {
    for (const [name, { agent, running }] of this.#agents) await this.#join(name, running, agent.nodeId);
  }

  async #runs(name: string): Promise<void> {
    const known = this.#agents.get(name);
    if (known === undefined) return this.#join(name);
    for (const ref of known.running) await known.agent.end(ref, 'OK');
    this.#agents.set(name, { ...known, running: [] });
  }

  async #join(name: string, held: readonly AttemptRef[] = [], nodeId?: string): Promise<void> {
    const instances = [{ id: `${name}-sim` }];
    const agent = await join({ ...{ id: name, instances, running: [...held] }, ...(nodeId && { nodeId }) });
    this.#agents.set(name, { agent, running: [...held, ...agent.assigned.map(({ ref }) => ref)] });
  }
}

interface Life {
  readonly taskId: string;
  readonly steps: Steps;
}

/** Whether nothing is left, as far as hub and workload manager say. */
async function isOver(): Promise<boolean> {
  return manager.live.length === 0 && (await engine.store.allocations.open()).length === 0;
}

/** Lives through a task, with a kill at the point; `isCanceled`: the task is canceled while its host waits. */
async function live(isCanceled: boolean, point?: Point): Promise<Life> {
  await startWith({ idleMs: 10_000 });
  const steps = watch(point);
  const taskId = await create();
  const jobs = new Jobs();
  let isFollowed = false;
  for (let atMs = 0; atMs < LIFE_MS; atMs += LOOK_MS) {
    await pass(LOOK_MS);
    if (steps.isReached && !isFollowed) {
      isFollowed = true;
      await killAndFollow(steps);
      await jobs.joinAgain();
    }
    await jobs.look(!isCanceled);
    if (isCanceled && atMs === LOOKS_TO_START * LOOK_MS) await engine.tasks.cancel(taskId, false, ANYBODY);
    if (atMs > LOOKS_TO_START * LOOK_MS && isFollowed === (point !== undefined) && (await isOver())) break;
  }
  await pass(AFTER_MS);
  expect(isFollowed).toBe(point !== undefined);
  return { taskId, steps };
}

/** No allocation is there twice, is left, or was forgotten. */
async function expectOneThatIsOver(): Promise<void> {
  const names = manager.launches.map(({ name }) => name);
  expect(names, 'one job was handed in, once').toHaveLength(1);
  expect(manager.live, 'no job is left').toEqual([]);
  expect(await engine.store.allocations.open(), 'no row is left').toEqual([]);
  const over = await engine.store.allocations.latest({
    ...{ recipe: null, limit: 20, nowMs: Number.MAX_SAFE_INTEGER },
  });
  expect(
    over.map(({ id, state }) => ({ id, state })),
    'the hub knows its end',
  ).toEqual([{ id: names[0], state: 'ENDED' }]);
  expect(new Set(manager.removed), 'its files are removed').toEqual(new Set(names));
  expect(engine.instances.agents(), 'no agent is left').toEqual([]);
}

const pointsOf = (steps: readonly string[]) =>
  steps.flatMap((step) => MOMENTS.map((moment) => [moment, step] as const));

describe('the steps of an allocation are all that is tried', () => {
  it.each([
    ['whose host works', false, STEPS_OF_A_HOST],
    ['that is canceled while it waits', true, STEPS_IN_THE_QUEUE],
  ])('%s', async (_, isCanceled, expected) => {
    const { steps } = await live(isCanceled);
    expect(steps.seen.filter((step) => step !== 'SAME').toSorted()).toEqual(expected.toSorted());
    await expectOneThatIsOver();
  });
});

describe('a hub that is killed', () => {
  it.each(pointsOf(STEPS_OF_A_HOST))('%s "%s" of a host that works', async (moment, step) => {
    const { taskId } = await live(false, { step, moment });
    await expectOneThatIsOver();
    expect(await engine.tasks.get(taskId)).toMatchObject({ status: 'FINISHED', losses: 0, crashes: 0 });
  });

  it.each(pointsOf(STEPS_IN_THE_QUEUE))(
    '%s "%s" of one that is canceled while it waits',
    async (moment, step) => {
      const { taskId } = await live(true, { step, moment });
      await expectOneThatIsOver();
      expect(await engine.tasks.get(taskId)).toMatchObject({ status: 'CANCELED' });
    },
  );
});
