/**
 * Order of password checks. A check is costly, and a flood of logins leaves more of them than can be done, so turns are
 * shared:
 *
 * 1. users who recently logged in from the same location, the least busy first;
 * 2. all others: by fewest recent failures of the location, then of the name; then those who return after a refusal; then in
 *    order of arrival.
 *
 * Every fourth turn goes to the others, if any wait. The queue is bounded: beyond it, the last in this order is refused.
 */
import type { Clock } from '@workbench-hub/shared/runtime/runtime';
import { HubError } from '../../core/errors.js';
import { RecentCounts } from './recent-counts.js';

/** Concurrent checks. Each takes a tenth of a second of a core and 32 MiB; half of Node's threads stay free for files. */
const AT_ONCE = 2;

/** Maximum queue length, some seconds of work. */
const MAX_WAITING = 50;

/** Maximum in the queue of users known at their location. */
const MAX_KNOWN_WAITING = 40;

/** One of this many turns is for users not known at their location. */
const TURNS_WITH_ONE_OF_OTHERS = 4;

const BUSY_RETRY_AFTER_S = 1;

export interface LoginAttempt {
  readonly username: string;
  readonly location: string;
  /** True when the user recently logged in from this location. */
  readonly isKnown: boolean;
  /** Aborted when the client no longer waits. */
  readonly client: { readonly aborted: boolean };
}

interface Waiting {
  readonly attempt: LoginAttempt;
  readonly order: number;
  readonly begin: () => void;
  readonly turnAway: () => void;
}

/** Compared element by element; the smaller key goes first. */
type Rank = readonly number[];

export class LoginQueue {
  readonly #failuresOfLocation: RecentCounts;
  readonly #failuresOfName: RecentCounts;
  readonly #triesOfKnown: RecentCounts;
  readonly #turnedAway: RecentCounts;
  readonly #running = new Set<LoginAttempt>();
  #waiting: Waiting[] = [];
  #order = 0;
  #turnsOfKnown = 0;

  constructor(clock: Clock) {
    this.#failuresOfLocation = new RecentCounts(clock);
    this.#failuresOfName = new RecentCounts(clock);
    this.#triesOfKnown = new RecentCounts(clock);
    this.#turnedAway = new RecentCounts(clock);
  }

  /** Calls `tryIt` on the attempt's turn and settles as it does; a rejection counts as a failure. Rejects with
   *  TOO_MANY_ATTEMPTS when too many attempts are ahead. */
  async run<T>(attempt: LoginAttempt, tryIt: () => Promise<T>): Promise<T> {
    await this.#turnOf(attempt);
    try {
      if (attempt.isKnown) this.#triesOfKnown.add(pairOf(attempt));
      this.#turnedAway.delete(pairOf(attempt));
      return await tryIt();
    } catch (error) {
      this.#failuresOfLocation.add(attempt.location);
      this.#failuresOfName.add(attempt.username);
      throw error;
    } finally {
      this.#running.delete(attempt);
      this.#beginNext();
    }
  }

  #turnOf(attempt: LoginAttempt): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({
        attempt,
        order: this.#order++,
        begin: resolve,
        turnAway: () => {
          this.#turnedAway.add(pairOf(attempt));
          reject(
            new HubError('TOO_MANY_ATTEMPTS', 'too many logins at the moment: try again in a second', {
              retryAfterS: BUSY_RETRY_AFTER_S,
            }),
          );
        },
      });
      this.#beginNext();
      this.#turnAwaySurplus();
    });
  }

  #beginNext(): void {
    while (this.#running.size < AT_ONCE) {
      const next = this.#takeNext();
      if (!next) return;
      this.#running.add(next.attempt);
      next.begin();
    }
  }

  #takeNext(): Waiting | undefined {
    const gone = this.#waiting.filter(({ attempt }) => attempt.client.aborted);
    for (const waiting of gone) this.#remove(waiting).turnAway();
    const others = this.#waiting.filter(({ attempt }) => !attempt.isKnown);
    const isTurnOfOthers = this.#turnsOfKnown >= TURNS_WITH_ONE_OF_OTHERS - 1 && others.length > 0;
    const [next] = this.#ranked(isTurnOfOthers ? others : this.#waiting);
    if (!next) return undefined;
    this.#turnsOfKnown = next.attempt.isKnown ? this.#turnsOfKnown + 1 : 0;
    return this.#remove(next);
  }

  #turnAwaySurplus(): void {
    const known = this.#waiting.filter(({ attempt }) => attempt.isKnown);
    if (known.length > MAX_KNOWN_WAITING) this.#turnAwayLast(known);
    else if (this.#waiting.length > MAX_WAITING) this.#turnAwayLast(this.#waiting);
  }

  #turnAwayLast(candidates: readonly Waiting[]): void {
    const last = this.#ranked(candidates).at(-1);
    if (last) this.#remove(last).turnAway();
  }

  #remove(waiting: Waiting): Waiting {
    this.#waiting = this.#waiting.filter((other) => other !== waiting);
    return waiting;
  }

  /** Ordered by turn; attempts with the same key in order of arrival. */
  #ranked(candidates: readonly Waiting[]): Waiting[] {
    const ahead = new Map<string, number>();
    for (const attempt of this.#running) addOne(ahead, keyOf(attempt));
    return candidates
      .map((waiting) => ({ waiting, within: this.#rankWithinKey(waiting) }))
      .sort((a, b) => compare(a.within, b.within))
      .map(({ waiting, within }) => ({
        waiting,
        rank: [...this.#rankOfKey(waiting, addOne(ahead, keyOf(waiting.attempt))), ...within],
      }))
      .sort((a, b) => compare(a.rank, b.rank))
      .map(({ waiting }) => waiting);
  }

  #rankOfKey({ attempt }: Waiting, aheadOfSameKey: number): Rank {
    return attempt.isKnown
      ? [0, this.#triesOfKnown.of(pairOf(attempt)) + aheadOfSameKey]
      : [1, this.#failuresOfLocation.of(attempt.location) + aheadOfSameKey];
  }

  #rankWithinKey({ attempt, order }: Waiting): Rank {
    const hasBeenTurnedAway = this.#turnedAway.of(pairOf(attempt)) > 0;
    return [this.#failuresOfName.of(attempt.username), hasBeenTurnedAway ? 0 : 1, order];
  }
}

function pairOf({ username, location }: LoginAttempt): string {
  return `${location} ${username}`;
}

function keyOf(attempt: LoginAttempt): string {
  return attempt.isKnown ? `known ${pairOf(attempt)}` : `new ${attempt.location}`;
}

/** Returns the former count. */
function addOne(counts: Map<string, number>, key: string): number {
  const before = counts.get(key) ?? 0;
  counts.set(key, before + 1);
  return before;
}

function compare(a: Rank, b: Rank): number {
  for (const [index, value] of a.entries()) {
    const difference = value - (b[index] ?? 0);
    if (difference !== 0) return difference;
  }
  return 0;
}
