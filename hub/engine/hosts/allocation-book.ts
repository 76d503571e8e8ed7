/** The open allocations of a term of the scheduler: in memory as in the store, which is written first. */
import type { Logger } from '@workbench-hub/shared/runtime/logger';
import type { Clock } from '@workbench-hub/shared/runtime/runtime';
import {
  type Allocation,
  type AllocationChange,
  type AllocationTransition,
  changed,
  isOpen,
} from '../../core/hosts/allocation.js';
import { isFailedStart } from '../../core/hosts/failed-starts.js';
import { hostEndOf } from '../../core/hosts/host-end.js';
import type { HostRecipe } from '../../core/hosts/host-recipe.js';
import type { Allocations } from '../../core/ports/allocations.js';
import type { HostEnds } from '../scheduling/host-ends.js';

export interface AllocationBookOptions {
  readonly allocations: Allocations;
  /** Ends of hosts, which the book keeps up to date. */
  readonly ends: Pick<HostEnds, 'set' | 'clear'>;
  readonly recipes: readonly HostRecipe[];
  readonly clock: Clock;
  /** Name for a new allocation of this recipe, which no other has. */
  readonly newName: (recipe: string) => string;
  readonly log: Logger;
}

export class AllocationBook {
  readonly #options: AllocationBookOptions;
  readonly #open = new Map<string, Allocation>();
  #term = 0;

  constructor(options: AllocationBookOptions) {
    this.#options = options;
  }

  get term(): number {
    return this.#term;
  }

  /** Reads what is open. Rejects as the store does. */
  async start(term: number): Promise<void> {
    this.#term = term;
    this.#open.clear();
    for (const allocation of await this.#options.allocations.open()) this.#keep(allocation);
  }

  clear(): void {
    this.#open.clear();
    this.#options.ends.clear();
  }

  /** All that are open, oldest first. */
  get all(): readonly Allocation[] {
    return [...this.#open.values()];
  }

  get(id: string): Allocation | undefined {
    return this.#open.get(id);
  }

  of(recipe: string): Allocation[] {
    return this.all.filter((allocation) => allocation.recipe === recipe);
  }

  /** Adds an allocation; undefined when the term is over. Rejects as the store does. */
  async want(
    recipe: HostRecipe,
    { reason, forUser }: { readonly reason: string; readonly forUser: string | null },
  ): Promise<Allocation | undefined> {
    const { clock, newName, log } = this.#options;
    const allocation: Allocation = {
      ...{
        id: newName(recipe.name),
        recipe: recipe.name,
        state: 'WANTED',
        jobId: null,
        reason,
        forUser,
        cause: null,
      },
      ...{ message: null, wantedAtMs: clock.nowMs(), startedAtMs: null, joinedAtMs: null, endsAtMs: null },
      endedAtMs: null,
    };
    if (!(await this.#add(allocation))) return undefined;
    this.#keep(allocation);
    log.info(
      { allocation: allocation.id, recipe: recipe.name, reason, forUser: forUser ?? undefined },
      'an allocation is wanted',
    );
    return allocation;
  }

  /** Adds the row; one whose answer was lost is there all the same. */
  async #add(allocation: Allocation): Promise<boolean> {
    const { allocations } = this.#options;
    try {
      return await allocations.add(allocation, this.#term);
    } catch (error) {
      if (await allocations.find(allocation.id)) return true;
      throw error;
    }
  }

  /** Changes fields of an allocation, and not its state. Rejects as the store does. */
  async note(id: string, change: AllocationChange): Promise<void> {
    const before = this.#open.get(id);
    if (!before) return;
    const after = { ...before, ...change };
    if (await this.#options.allocations.change(after, before.state, this.#term)) this.#keep(after);
    else await this.#readAgain(id);
  }

  /** Changes the state of an allocation; undefined when its state does not permit it, or the term is over. Rejects as the store does. */
  async move(
    id: string,
    transition: Exclude<AllocationTransition, 'want' | 'remove'>,
    change: AllocationChange = {},
  ): Promise<Allocation | undefined> {
    const { allocations } = this.#options;
    const before = this.#open.get(id);
    const after = before && changed(before, transition, change);
    if (!before || !after) return undefined;
    if (!(await allocations.change(after, before.state, this.#term))) {
      // Another hub has changed it, or an answer of the store was lost.
      await this.#readAgain(id);
      return undefined;
    }
    this.#keep(after);
    this.#say(after);
    return after;
  }

  /** Has the log tell the new state of an allocation. */
  #say(allocation: Allocation): void {
    const { log } = this.#options;
    const { id, recipe, jobId, state, cause, message } = allocation;
    const fields = { allocation: id, recipe, jobId, state, cause, message };
    if (isFailedStart(allocation)) log.warn(fields, 'an allocation failed to start');
    else log.info(fields, `an allocation is ${state.toLowerCase()}`);
  }

  /** The allocation, if it is over in the store. */
  async overInStore(id: string): Promise<Allocation | undefined> {
    const stored = await this.#options.allocations.find(id);
    return stored && !isOpen(stored) ? stored : undefined;
  }

  async #readAgain(id: string): Promise<void> {
    const stored = await this.#options.allocations.find(id);
    if (stored) this.#keep(stored);
    else this.#forget(id);
  }

  #forget(id: string): void {
    this.#open.delete(id);
    this.#options.ends.set(id, null);
  }

  #keep(allocation: Allocation): void {
    const { ends, recipes } = this.#options;
    const { id, recipe: name } = allocation;
    if (!isOpen(allocation)) {
      this.#forget(id);
      return;
    }
    this.#open.set(id, allocation);
    const wallTimeMs = recipes.find((recipe) => recipe.name === name)?.wallTimeMs ?? null;
    ends.set(id, hostEndOf(allocation, wallTimeMs));
  }
}
