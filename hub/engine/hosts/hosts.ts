/** Hosts that come and go: the hub with the role of the scheduler drives the allocations of all recipes, in each of its terms. */
import type { Logger } from '@workbench-hub/shared/runtime/logger';
import { Loop } from '@workbench-hub/shared/runtime/loop';
import { pause } from '@workbench-hub/shared/runtime/pause';
import type { Runtime } from '@workbench-hub/shared/runtime/runtime';
import type { Allocation, AllocationChange } from '../../core/hosts/allocation.js';
import type { Allocations } from '../../core/ports/allocations.js';
import type { SignalListener } from '../../core/ports/signals.js';
import type { AllocationBook } from './allocation-book.js';
import type { EndedAllocations } from './ended-allocations.js';
import type { HostPlanner } from './host-planner.js';
import type { JoinedRecipes } from './joined-recipes.js';
import type { RecipeDriver } from './recipe-driver.js';
import type { ToldEnds } from './told-ends.js';

export interface HostsOptions {
  readonly drivers: ReadonlyMap<string, RecipeDriver>;
  readonly planner: HostPlanner;
  readonly joined: Pick<JoinedRecipes, 'hasHubs' | 'brings' | 'reset'>;
  readonly book: AllocationBook;
  readonly ended: EndedAllocations;
  readonly toldEnds: Pick<ToldEnds, 'forget' | 'clear'>;
  readonly allocations: Pick<Allocations, 'removeBefore'>;
  /** Whether an agent is connected. */
  readonly isConnected: (agentId: string) => boolean;
  readonly runtime: Pick<Runtime, 'clock' | 'timers'>;
  readonly log: Logger;
}

/** Time after which tasks that begin to wait are looked at, and those of hosts that are over, again. */
const LOOK_MS = 1000;
const RETRY_MS = 5000;
/** Time for which allocations that are over are kept. */
const KEPT_MS = 400 * 86_400_000;
const REMOVED_AT_A_TIME = 1000;
const REMOVE_EVERY_MS = 3_600_000;
/** Time after its end at which an allocation of a former recipe is over. */
const FORMER_FOR_MS = 60_000;
/** Time for which the agent of an allocation of a former recipe whose end is not known has to be silent before it is over. */
const FORMER_SILENT_FOR_MS = 3_600_000;
/** Time for which a stop waits for commands. */
const STOP_LIMIT_MS = 1000;

export class Hosts {
  readonly #options: HostsOptions;
  readonly #loop: Loop;
  #hasRole = false;
  /** Time of the latest removal of old allocations. */
  #removedAtMs = Number.NEGATIVE_INFINITY;
  /** Times since which agents of allocations of former recipes whose ends are not known are silent. */
  readonly #silentSinceMs = new Map<string, number>();

  constructor(options: HostsOptions) {
    this.#options = options;
    this.#loop = new Loop({
      timers: options.runtime.timers,
      pass: () => this.#pass(),
      failed: (error) => {
        if (!this.#loop.isStopped)
          options.log.error({ err: error }, 'the hosts could not be planned; the hub tries again');
        return RETRY_MS;
      },
      isStopped: true,
    });
  }

  /** Reads the allocations at the beginning of a term, so that the scheduler knows the ends of hosts. Rejects as the store does. */
  async load(term: number): Promise<void> {
    const { drivers, book, ended, log } = this.#options;
    await book.start(term);
    if (drivers.size === 0 && book.all.length === 0) return;
    for (const { id, recipe, jobId } of book.all) {
      if (drivers.has(recipe)) continue;
      log.warn(
        { allocation: id, recipe, jobId },
        'the recipe of an allocation is not configured any more: until it is back, the hub heeds the end of its time alone; end its job by the workload manager',
      );
    }
    await ended.start(term, (id) => book.get(id) !== undefined);
  }

  /** Begins to bring hosts, and to ask joined hubs for theirs. */
  start(): void {
    const { drivers, planner, joined, book } = this.#options;
    planner.reset();
    this.#silentSinceMs.clear();
    for (const driver of drivers.values()) driver.start();
    this.#hasRole = true;
    if (drivers.size > 0 || joined.hasHubs || book.all.length > 0) this.#startLoop();
  }

  async stop(): Promise<void> {
    const { drivers, joined, book, toldEnds, runtime } = this.#options;
    this.#hasRole = false;
    joined.reset();
    if (drivers.size === 0 && this.#loop.isStopped) return book.clear();
    const stopped = [this.#loop.stop(), ...[...drivers.values()].map((driver) => driver.stop())];
    // A command that hangs must not keep the next hub from scheduling. Its outcome changes nothing any more.
    const over = new AbortController();
    const limit = pause(runtime.timers, STOP_LIMIT_MS, over.signal).catch(() => undefined);
    await Promise.race([Promise.all(stopped), limit]);
    over.abort();
    toldEnds.clear();
    book.clear();
  }

  readonly wake = (): void => {
    if (!this.#loop.isStopped) this.#loop.wakeSoon();
  };

  /** Without recipes and joined hubs, nothing is looked at. */
  #startLoop(): void {
    if (this.#hasRole && this.#loop.isStopped) this.#loop.start();
  }

  readonly onSignal: SignalListener = {
    WAITS: () => this.#wakeForWork(),
    RETURNED: () => this.#wakeForWork(),
    READY: ({ agentId }) => {
      // It may have been started anew.
      this.#options.toldEnds.forget(agentId);
      if (!this.#options.joined.brings(agentId)) return this.#wakeFor(agentId);
      this.#startLoop();
      this.wake();
    },
    INSTANCE: ({ agentId }) => this.#wakeFor(agentId),
    LEFT: ({ agentId }) => this.#wakeFor(agentId),
    RESYNC: () => {
      if (this.#options.joined.hasHubs) this.#startLoop();
      this.wake();
    },
  };

  #wakeForWork(): void {
    if (!this.#loop.isStopped) this.#loop.wake(LOOK_MS);
  }

  #wakeFor(agentId: string): void {
    const { book, ended } = this.#options;
    if (!book.get(agentId) && !ended.has(agentId)) return;
    this.wake();
  }

  /** Ends the allocations of recipes that are not configured any more, when their time is over and their agents are silent. */
  async #endFormer(): Promise<void> {
    const { book, drivers, ended } = this.#options;
    for (const allocation of book.all) {
      if (drivers.has(allocation.recipe)) continue;
      const change = this.#endOfFormer(allocation);
      const over = change && (await book.move(allocation.id, 'end', change));
      if (over) await ended.add(over);
    }
  }

  /** The end of an allocation of a former recipe; undefined while it may have a host. One whose end is not known has none when it is silent for long. */
  #endOfFormer({ id, endsAtMs }: Allocation): AllocationChange | undefined {
    const { isConnected, runtime } = this.#options;
    const nowMs = runtime.clock.nowMs();
    if (isConnected(id)) {
      this.#silentSinceMs.delete(id);
      return undefined;
    }
    const why = 'its recipe is not configured any more';
    if (endsAtMs !== null) {
      if (nowMs < endsAtMs + FORMER_FOR_MS) return undefined;
      return { cause: 'TIME', message: `its time is over; ${why}`, endedAtMs: endsAtMs };
    }
    if (!this.#isSilentForLong(id)) return undefined;
    return { cause: 'GONE', message: `no agent of it came for an hour; ${why}`, endedAtMs: nowMs };
  }

  #isSilentForLong(id: string): boolean {
    const nowMs = this.#options.runtime.clock.monotonicMs();
    const sinceMs = this.#silentSinceMs.get(id) ?? nowMs;
    this.#silentSinceMs.set(id, sinceMs);
    return nowMs - sinceMs >= FORMER_SILENT_FOR_MS;
  }

  async #pass(): Promise<number> {
    const { planner, ended, allocations, runtime, drivers } = this.#options;
    await this.#endFormer();
    await ended.settle();
    const nextMs = await planner.look();
    if (drivers.size === 0) return ended.areSettled ? nextMs : LOOK_MS;
    const nowMs = runtime.clock.monotonicMs();
    if (nowMs - this.#removedAtMs >= REMOVE_EVERY_MS) {
      this.#removedAtMs = nowMs;
      await allocations.removeBefore(runtime.clock.nowMs() - KEPT_MS, REMOVED_AT_A_TIME);
    }
    return ended.areSettled ? nextMs : LOOK_MS;
  }
}
