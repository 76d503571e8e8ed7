/** Invariants of a single change of a task. */
import type { TaskState } from '@workbench-hub/hub/store/sqlite/fixtures/database-in-memory';
import { FOUND_NO_ROOM } from './programs.js';
import { ENDED, endOf, wordsOf } from './task-states.js';
import type { World } from './world.js';

export function checkChange(world: World, before: TaskState, after: TaskState): void {
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
  if (after.message === FOUND_NO_ROOM)
    world.violated('a full disk is a fault of the host', `${id} failed for the disk of ${after.agent_id}`);
}
