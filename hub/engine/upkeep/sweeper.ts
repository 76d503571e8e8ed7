/** Sweep for all hubs: removes tasks past their retention, expired names, unreferenced blobs, unused queue groups, and agents that have not
 *  joined for long. */
import type { Logger } from '@workbench-hub/shared/runtime/logger';
import { type Loop, periodicLoop } from '@workbench-hub/shared/runtime/loop';
import type { Runtime } from '@workbench-hub/shared/runtime/runtime';
import type { BlobStore } from '../../core/ports/blobs.js';
import type { NamedObjects } from '../../core/ports/named-objects.js';
import type { Presence } from '../../core/ports/presence.js';
import type { Studies } from '../../core/ports/studies.js';
import type { TaskArchive } from '../../core/ports/task-archive.js';
import type { TaskQueue } from '../../core/ports/task-queue.js';
import type { Instances } from '../instances/instances.js';
import type { TaskTransitions } from '../transitions/task-transitions.js';
import type { Webhooks } from '../webhooks/webhooks.js';
import type { ClockWatch } from './clock-watch.js';

export interface SweeperOptions {
  readonly queue: TaskQueue;
  readonly archive: Pick<TaskArchive, 'endedBefore'>;
  readonly transitions: Pick<TaskTransitions, 'remove'>;
  readonly studies: Pick<Studies, 'endedBefore' | 'remove'>;
  readonly files: BlobStore;
  readonly names: NamedObjects;
  readonly presence: Pick<Presence, 'forget'>;
  readonly instances: Instances;
  readonly runtime: Runtime;
  readonly log: Logger;
  readonly keepEndedForMs: number;
  readonly forgetAgentsAfterMs: number;
  readonly sweepAccounts: () => Promise<void>;
  readonly clockWatch: ClockWatch;
  readonly webhooks: Pick<Webhooks, 'forgetOld'> | null;
}

const SWEEP_INTERVAL_MS = 60_000;

/** Tasks removed in one transaction. */
const TASK_BATCH = 500;

/** Studies removed in one sweep. */
const STUDY_BATCH = 100;

/** Queue groups examined in one transaction. */
const GROUP_BATCH = 500;

/** Age up to which a repeated create request is recognized by its key. */
const IDEMPOTENCY_KEY_AGE_MS = 24 * 3_600_000;

/** Age up to which unreferenced blobs are kept, since agents may still report them. Blobs that lose their last reference are
 *  removed at any age, see the blob store. */
const UNREFERENCED_BLOB_AGE_MS = 3_600_000;

export class Sweeper {
  readonly #options: SweeperOptions;
  readonly #loop: Loop;

  constructor(options: SweeperOptions) {
    this.#options = options;
    this.#loop = periodicLoop(SWEEP_INTERVAL_MS, {
      timers: options.runtime.timers,
      pass: () => this.sweep(),
      failed: (error) => options.log.error({ err: error }, 'sweeping failed'),
    });
  }

  start(): void {
    // Finishes removals that a killed hub left undone.
    void this.#options.files.reclaim();
    this.#loop.start(SWEEP_INTERVAL_MS);
  }

  stop(): Promise<void> {
    return this.#loop.stop();
  }

  /** One sweep of everything. After a jump of the clock nothing is removed by age, since the clock may be wrong. */
  async sweep(): Promise<void> {
    const { files, log, clockWatch } = this.#options;
    const jumpedMs = clockWatch.measureJump();
    if (jumpedMs > 0) {
      log.warn(
        { jumpedMs },
        'the clock of this machine has jumped ahead; for an hour nothing is removed by age',
      );
    }
    if (clockWatch.isTrusted) await this.#sweepByAge();
    await this.#step('accounts', this.#options.sweepAccounts);
    await this.#step('files of what was removed', () => files.reclaim());
  }

  async #sweepByAge(): Promise<void> {
    const { files, names, webhooks, queue, runtime, log } = this.#options;
    const nowMs = () => runtime.clock.nowMs();
    const tasks = await this.#step('tasks', () => this.#removeTasks());
    const studies = await this.#step('studies', () => this.#removeStudies());
    await this.#step('queue groups', () => this.#removeUnusedGroups());
    const agents = await this.#step('agents', () => this.#forgetAgents());
    const storedFiles = await this.#step('stored files', () => names.removeExpired(nowMs()));
    const blobs = await this.#step('unreferenced files', () => files.sweep(UNREFERENCED_BLOB_AGE_MS));
    await this.#step('deliveries of webhooks', async () => webhooks?.forgetOld());
    await this.#step('keys of requests', () => queue.forgetKeys(nowMs() - IDEMPOTENCY_KEY_AGE_MS));
    if (tasks + studies + storedFiles + blobs + agents > 0) {
      log.info({ tasks, studies, storedFiles, blobs, agents }, 'swept what is no longer kept');
    }
  }

  /** Resolves with the number of things that a step has removed. A failure is logged; the steps after it are taken all the same. */
  async #step(swept: string, run: () => Promise<unknown>): Promise<number> {
    try {
      const removed = await run();
      return typeof removed === 'number' ? removed : 0;
    } catch (error) {
      this.#options.log.error(
        { err: error, swept },
        'a step of the sweep failed; the next sweep tries it again',
      );
      return 0;
    }
  }

  async #removeTasks(): Promise<number> {
    const { archive, transitions, runtime, keepEndedForMs } = this.#options;
    let removed = 0;
    while (!this.#loop.isStopped) {
      const ids = await archive.endedBefore(runtime.clock.nowMs() - keepEndedForMs, TASK_BATCH);
      if (ids.length === 0) break;
      await transitions.remove(ids);
      removed += ids.length;
    }
    return removed;
  }

  async #removeStudies(): Promise<number> {
    const { studies, runtime, keepEndedForMs } = this.#options;
    const ids = await studies.endedBefore(runtime.clock.nowMs() - keepEndedForMs, STUDY_BATCH);
    let removed = 0;
    for (const id of ids) {
      removed += await this.#step(`study ${id}`, async () => {
        await studies.remove(id);
        return 1;
      });
    }
    return removed;
  }

  async #removeUnusedGroups(): Promise<void> {
    let afterGroupId: number | null = 0;
    while (afterGroupId !== null && !this.#loop.isStopped) {
      afterGroupId = await this.#options.queue.removeUnusedGroups({ afterGroupId, limit: GROUP_BATCH });
    }
  }

  async #forgetAgents(): Promise<number> {
    const { queue, instances, presence, runtime, forgetAgentsAfterMs } = this.#options;
    const seenBeforeMs = runtime.clock.nowMs() - forgetAgentsAfterMs;
    const gone = instances
      .agents()
      .filter(({ status, seenAtMs }) => status === 'DOWN' && seenAtMs < seenBeforeMs);
    let forgotten = 0;
    for (const { id } of gone) {
      if ((await queue.runningOn(id)).length > 0) continue;
      instances.forget(id);
      if (await presence.forget(id)) forgotten++;
    }
    return forgotten;
  }
}
