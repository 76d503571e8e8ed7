/** Invariants of the end of a run, after a long time without faults: nothing runs, and all reports are acknowledged. */

import { outputName } from '@workbench-hub/hub/core/storage';
import type { TaskState } from '@workbench-hub/hub/store/sqlite/fixtures/database-in-memory';
import { attemptKey } from '@workbench-hub/shared/domain/task';
import { digestOf, resultOf, STORED_PATH } from './agent-disk.js';
import { SCRIPT_FAILED } from './programs.js';
import type { SimulatedAgent } from './simulated-agent.js';
import type { SimulatedHubs } from './simulated-hubs.js';
import { ENDED, refOf } from './task-states.js';
import type { World } from './world.js';

/** More than the removals that are under way at a time. */
const MAX_DROPPED = 10_000;

export interface FinalState {
  readonly world: World;
  readonly hubs: SimulatedHubs;
  /** The agents that are present. */
  readonly agents: readonly SimulatedAgent[];
  readonly tasks: Iterable<TaskState>;
  /** Digests of the blobs that clients uploaded. */
  readonly inputDigests: readonly string[];
  /** Digests of the blobs that were to be removed when the aftermath began. */
  readonly left: ReadonlySet<string>;
  /** Keys of the attempts with a file for the output storage that were acknowledged as counting. */
  readonly stored: ReadonlySet<string>;
  /** Whether acknowledged writes to the task were lost, about which nothing is promised but that it ends. */
  isUndone(taskId: string): boolean;
}

export async function checkEnd(state: FinalState): Promise<void> {
  const { world, hubs, agents, tasks } = state;
  for (const task of tasks) {
    if (!ENDED.has(task.status)) {
      const attempt = `attempt ${task.attempt} on ${task.instance_id}`;
      world.violated('everything ends', `${task.id} is ${task.status}, ${attempt}`);
    }
    if (state.isUndone(task.id)) continue;
    if (task.status === 'FINISHED') await checkResult(state, task);
    await checkStored(state, task);
  }
  if (!hubs.server?.hasLostDurable) await checkInputs(state);
  for (const agent of agents) {
    if (agent.held > 0) world.violated('everything ends', `${agent.id} still holds ${agent.held} attempts`);
    checkDisk(world, agent);
  }
  for (const { profile, working, status } of hubs.engines.flatMap(({ instances }) => instances.list())) {
    if (working && status !== 'UNKNOWN')
      world.violated('everything ends', `the hub holds ${profile.id} for working, and nothing runs`);
  }
}

function checkDisk(world: World, { id, disk, held }: SimulatedAgent): void {
  const { pinned, directories } = disk;
  if (held > 0 || pinned.size + directories === 0) return;
  world.violated(
    'nothing is left on the disk of an agent',
    `${id}: ${pinned.size} inputs held, ${directories} working directories`,
  );
}

/** Checks that each blob exists as long as something refers to it, and no longer. */
async function checkInputs({ world, hubs, inputDigests, left }: FinalState): Promise<void> {
  const hub = hubs.serving;
  const { inlineBlobs } = hub.store;
  const referenced = await inlineBlobs.referenced(inputDigests, false);
  const onDisk = new Set(hub.blobFiles());
  // On a server, a removal takes several statements, and the world may end between them. What was to go before the aftermath is gone.
  const dropped = hubs.server ? await inlineBlobs.dropped(0, MAX_DROPPED) : [];
  const leaving = new Set(dropped.map((blob) => blob.digest).filter((digest) => !left.has(digest)));
  for (const digest of new Set(inputDigests)) {
    const isThere = onDisk.has(digest) || (await world.until(inlineBlobs.find(digest))) !== undefined;
    if (isThere && leaving.has(digest)) continue;
    if (isThere !== referenced.has(digest))
      world.violated('what nothing names goes', `${digest} is ${isThere ? '' : 'not '}there`);
  }
}

async function checkResult(state: FinalState, task: TaskState): Promise<void> {
  const { world } = state;
  const hub = state.hubs.serving;
  const { outputFiles, log } = await hub.store.archive.filesOf(task.id);
  for (const { digest } of log ? [...outputFiles, log] : outputFiles) {
    // A removal that is under way holds it up.
    if (!(await world.until(hub.blobOf(digest))))
      world.violated('results are whole', `${task.id} lacks ${digest}`);
  }
  for (const { digest } of outputFiles) await checkBlob(state, task, digest);
}

/** Checks that the output storage has the files of the attempt that counted, and of no other. */
async function checkStored(state: FinalState, task: TaskState): Promise<void> {
  const { world } = state;
  const hub = state.hubs.serving;
  const name = outputName(task.id, STORED_PATH);
  const stored = await hub.store.namedObjects.find('OUTPUT', name, 0);
  if (stored) await checkBlob(state, task, stored.digest);
  const mustBe = state.stored.has(attemptKey(refOf(task)));
  const isByScripts = [SCRIPT_FAILED, 'time limit'].some((why) => task.message?.includes(why) === true);
  const mayBe = task.status === 'FINISHED' || task.status === 'CANCELED' || isByScripts;
  if (stored ? mayBe : !mustBe) return;
  world.violated('the storage has what counts', `${name} is ${stored ? '' : 'not '}there`);
}

/** Checks that a blob is intact and was written by the attempt of the task. */
async function checkBlob({ world, hubs }: FinalState, task: TaskState, digest: string): Promise<void> {
  const blob = (await world.until(hubs.serving.blobOf(digest))) ?? Buffer.alloc(0);
  if (digestOf(blob) !== digest)
    world.violated('results are whole', `${task.id} has something else for ${digest}`);
  const [first] = blob.toString().split('\n');
  const expected = resultOf(refOf(task));
  if (first !== expected) {
    world.violated('a result is that of its attempt', `${JSON.stringify(first)} instead of ${expected}`);
  }
}
