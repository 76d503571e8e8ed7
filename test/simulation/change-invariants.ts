/** Invariants of a single change of a task. */
import type { TaskState } from '@workbench-hub/hub/store/sqlite/fixtures/database-in-memory';
import { BEGINNING_MS } from './process.js';
import { FOUND_NO_ROOM } from './programs.js';
import { ENDED, endOf, wordsOf } from './task-states.js';
import type { World } from './world.js';

/** Longest time between an event and its commit; clocks of hubs are further apart. */
const MAX_DELAY_MS = 600_000;

/** `isOfCluster`: several hubs may store times, which are those of the database. */
export function checkChange(world: World, before: TaskState, after: TaskState, isOfCluster: boolean): void {
  const { id } = before;
  const isBegun = before.status === 'WAITING' && after.status === 'RUNNING';
  if (isBegun && after.attempt === before.attempt && after.instance_id !== before.instance_id) {
    world.violated('attempts are numbered', `${id} begins attempt ${after.attempt} for the second time`);
  }
  if (ENDED.has(before.status) && endOf(before) !== endOf(after)) {
    world.violated('none ends twice', `${id} was ${endOf(before)} and is ${endOf(after)}`);
  }
  if (after.attempt < before.attempt || after.attempt > before.attempt + 1) {
    world.violated('attempts are numbered', `${id} went from attempt ${before.attempt} to ${after.attempt}`);
  }
  if (after.crashes < before.crashes || after.losses < before.losses) {
    world.violated(
      'attempts are counted',
      `${id} had ${before.crashes}/${before.losses}, has ${after.crashes}/${after.losses}`,
    );
  }
  const isSame = before.attempt === after.attempt && before.instance_id === after.instance_id;
  if (before.status === 'RUNNING' && after.status === 'RUNNING' && !isSame) {
    world.violated('one attempt at a time', `${id} ran as ${wordsOf(before)} and runs as ${wordsOf(after)}`);
  }
  if (after.ended_at !== null && before.ended_at === null && isOfCluster)
    checkTime(world, id, after.ended_at);
  if (after.message === FOUND_NO_ROOM)
    world.violated('a full disk is a fault of the host', `${id} failed for the disk of ${after.agent_id}`);
}

function checkTime(world: World, id: string, endedAtMs: number): void {
  const aheadMs = endedAtMs - BEGINNING_MS - world.nowMs;
  if (Math.abs(aheadMs) > MAX_DELAY_MS)
    world.violated('times are those of the database', `${id} ended ${Math.round(aheadMs / 1000)} s from now`);
}
