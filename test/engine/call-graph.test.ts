/** The parts of the engine call each other in one direction only, also at run time: a call in the opposite direction, through a
 *  closure for example, makes a cycle of parts that can only be understood together. Events replace such calls; handlers of
 *  events are properties, not methods, and start a new chain of calls. */
import { ANYBODY } from '@workbench-hub/hub/core/access';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { CallGraph, classesIn, cycleIn } from '../support/call-graph.js';
import {
  create,
  engine,
  engineForEachTest,
  join as joinAgent,
  rejoin,
} from '../support/engine/engine-for-each-test.js';
import { LEASE_MS } from '../support/engine/running-engine.js';

/** Methods that only add a subscriber, and those by which an event reaches the scheduler: `engine.ts` calls these alone. */
const EVENT_TARGETS = ['Scheduler.wake', 'Scheduler.pause', 'Scheduler.resume'];

const PARTS = await classesIn('@workbench-hub/hub/engine/engine');

let graph: CallGraph;
beforeEach(() => {
  graph = CallGraph.of(PARTS, EVENT_TARGETS);
});
afterEach(() => graph.end());
engineForEachTest();

it('a cycle would be found', () => {
  expect(cycleIn(['A -> B', 'B -> C', 'A -> C'])).toBeUndefined();
  expect(cycleIn(['A -> B', 'B -> C', 'C -> B'])).toEqual(['B', 'C', 'B']);
});

it('the parts of the engine call each other without a cycle in all transitions of tasks', async () => {
  let agent = await joinAgent();
  await create();
  await agent.end(agent.latest.ref, 'OK');
  await create();
  await agent.end(agent.latest.ref, 'RETURNED', { hostFault: true, message: 'its disk is full' });
  await engine.runtime.advance(1000);
  await agent.end(agent.latest.ref, 'INSTANCE_LOST');
  const { ref } = agent.latest;
  await agent.disconnect();
  agent = await rejoin(agent, { running: [ref] });
  await engine.tasks.cancel(ref.taskId, true, ANYBODY);
  await agent.end(ref, 'CANCELED');
  const waiting = await create();
  await agent.disconnect();
  await engine.runtime.advance(LEASE_MS);
  await engine.explanations.ofTask(await engine.tasks.get(waiting));
  await engine.shutdown.change(true);
  await engine.tasks.awaitEnd(ref.taskId, 'SIMULATE_WORK', 1000, () => new AbortController().signal);
  await engine.tasks.remove(ref.taskId, ANYBODY);
  await engine.sweep();
  expect([...graph.calls]).toEqual(
    expect.arrayContaining(['Agents -> Attempts', 'Scheduler -> AgentSessions']),
  );
  expect(cycleIn(graph.calls)).toBeUndefined();
});
