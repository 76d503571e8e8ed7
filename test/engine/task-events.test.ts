/** Each transition of a task is published as events once the store shows it. */
import { ANYBODY } from '@workbench-hub/hub/core/access';
import { TASK_TRANSITIONS } from '@workbench-hub/hub/core/task';
import type { TaskEvent, TaskSubscriber } from '@workbench-hub/hub/core/task-events';
import { TaskTransitions } from '@workbench-hub/hub/engine/transitions/task-transitions';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import {
  create,
  engine,
  engineForEachTest,
  join,
  rejoin,
  restart,
} from '../support/engine/engine-for-each-test.js';
import { LEASE_MS, proven } from '../support/engine/running-engine.js';

type Transition = keyof typeof TASK_TRANSITIONS;
type EventType = TaskEvent['type'];

interface Observed {
  readonly type: EventType;
  /** Status of the task in the store when the event was published; '-' when there is no such task. */
  readonly status: Promise<string>;
}

interface Scenario {
  /** Performs transitions of one task; returns its id. */
  readonly play: () => Promise<string>;
  /** Events of the whole scenario, in order. */
  readonly events: readonly EventType[];
}

/** Events of each transition, the last of which is published when the transition is durable. */
const EVENTS: Record<Transition, readonly EventType[]> = {
  create: ['ENQUEUED', 'CREATED'],
  claim: ['STARTED'],
  adopt: ['ADOPTED'],
  end: ['ENDED'],
  requeue: ['REQUEUED'],
  cancel: ['CANCELED'],
  cancelByForce: ['CANCELED'],
  keepFiles: ['FILES_KEPT'],
  remove: ['REMOVED'],
};

const { create: CREATE, claim: CLAIM } = EVENTS;

/** Scenarios that end with the transition. */
const SCENARIOS: Record<Transition, Scenario> = {
  create: { play: () => create(), events: CREATE },
  claim: { play: async () => (await running()).ref.taskId, events: [...CREATE, ...CLAIM] },
  adopt: {
    play: async () => {
      const taskId = await create();
      await engine.shutdown.change(true); // so that it is not dispatched
      await join({ running: [proven({ taskId, attempt: 1, instanceId: 'sim-1' })] });
      return taskId;
    },
    events: [...CREATE, ...EVENTS.adopt],
  },
  end: {
    play: async () => {
      const { agent, ref } = await running();
      await agent.end(ref, 'OK');
      return ref.taskId;
    },
    events: [...CREATE, ...CLAIM, ...EVENTS.end],
  },
  requeue: {
    play: async () => {
      const { agent, ref } = await running();
      await engine.shutdown.change(true);
      await agent.end(ref, 'INSTANCE_LOST');
      return ref.taskId;
    },
    events: [...CREATE, ...CLAIM, ...EVENTS.requeue],
  },
  cancel: {
    play: async () => {
      const taskId = await create();
      await engine.tasks.cancel(taskId, false, ANYBODY);
      return taskId;
    },
    events: [...CREATE, ...EVENTS.cancel],
  },
  cancelByForce: {
    play: async () => (await canceled()).ref.taskId,
    events: [...CREATE, ...CLAIM, ...EVENTS.cancelByForce],
  },
  keepFiles: {
    play: async () => {
      const { agent, ref } = await canceled();
      const log = await engine.files.put(Buffer.from('output'));
      expect(await agent.end(ref, 'CANCELED', { log })).toBe(true);
      return ref.taskId;
    },
    events: [...CREATE, ...CLAIM, ...EVENTS.cancelByForce, ...EVENTS.keepFiles],
  },
  remove: {
    play: async () => {
      const { ref } = await canceled();
      await engine.tasks.remove(ref.taskId, ANYBODY);
      return ref.taskId;
    },
    events: [...CREATE, ...CLAIM, ...EVENTS.cancelByForce, ...EVENTS.remove],
  },
};

const observed: Observed[] = [];

beforeEach(() => {
  observed.length = 0;
  const { subscribe } = TaskTransitions.prototype;
  const recorded = new WeakSet<TaskTransitions>();
  vi.spyOn(TaskTransitions.prototype, 'subscribe').mockImplementation(function (
    this: TaskTransitions,
    other,
  ) {
    if (!recorded.has(this)) subscribe.call(this, RECORDER);
    recorded.add(this);
    subscribe.call(this, other);
  });
});
afterEach(() => vi.restoreAllMocks());
engineForEachTest();

/** Records each event of any type. */
const RECORDER: TaskSubscriber = new Proxy(
  {},
  { get: () => (event: TaskEvent) => void observed.push({ type: event.type, status: statusOf(event) }) },
);

async function statusOf(event: TaskEvent): Promise<string> {
  const task = await engine.store.archive.find(taskIdOf(event));
  return task?.status ?? '-';
}

function taskIdOf(event: TaskEvent): string {
  if ('taskId' in event) return event.taskId;
  if ('ref' in event) return event.ref.taskId;
  return 'task' in event ? event.task.id : (event.waiting[0]?.taskId ?? '');
}

/** An agent with the running attempt of a new task. */
async function running() {
  await create(); // before the agent joins: a task may start before it is durable
  const agent = await join();
  return { agent, ref: agent.latest.ref };
}

/** An agent with an attempt that was canceled by force. */
async function canceled() {
  const { agent, ref } = await running();
  await engine.tasks.cancel(ref.taskId, true, ANYBODY);
  await engine.runtime.settle();
  return { agent, ref };
}

const types = () => observed.map(({ type }) => type);

it.each(Object.keys(TASK_TRANSITIONS) as Transition[])(
  '%s is published when it is durable',
  async (transition) => {
    const { play, events } = SCENARIOS[transition];
    await play();
    expect(types()).toEqual(events);
    expect(events.slice(-EVENTS[transition].length)).toEqual(EVENTS[transition]);
    expect(EVENTS[transition]).not.toEqual([]);
    expect(TASK_TRANSITIONS[transition].to).toContain(await observed.at(-1)?.status);
  },
);

it('an attempt that its agent still holds after a restart of the hub is published as adopted', async () => {
  const { agent, ref } = await running();
  await restart();
  const again = await rejoin(agent, { running: [ref] });
  await again.say({ type: 'output', ref, offset: 0, text: 'half-way' });
  expect(await engine.tasks.log(ref.taskId)).toMatchObject({ kind: 'TEXT', text: 'half-way' });
  await again.end(ref, 'OK');
  expect(types()).toEqual([...CREATE, ...CLAIM, ...EVENTS.adopt, ...EVENTS.end]);
});

it('an attempt that is reported after it was presumed lost is adopted before it ends', async () => {
  const { agent, ref } = await running();
  await engine.shutdown.change(true);
  await agent.disconnect();
  await engine.runtime.advance(LEASE_MS);
  const again = await rejoin(agent, { spooled: [ref] });
  await again.end(ref, 'OK');
  expect(types()).toEqual([...CREATE, ...CLAIM, ...EVENTS.requeue, ...EVENTS.adopt, ...EVENTS.end]);
});

it('a task that the sweep removes is published as removed', async () => {
  const taskId = await create();
  await engine.tasks.cancel(taskId, false, ANYBODY);
  engine.runtime.skip(31 * 86_400_000);
  await engine.sweep();
  expect(types()).toEqual([...CREATE, ...EVENTS.cancel, ...EVENTS.remove]);
});

it('a transition that is refused is not published', async () => {
  const { agent, ref } = await canceled();
  await agent.end(ref, 'OK');
  await engine.tasks.cancel(ref.taskId, true, ANYBODY).catch(() => undefined);
  await rejoin(agent, { running: [ref] });
  expect(types()).toEqual([...CREATE, ...CLAIM, ...EVENTS.cancelByForce]);
});
