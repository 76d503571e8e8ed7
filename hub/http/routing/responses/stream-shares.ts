/** How many streams a user may have open at this hub (contract 12.37). */
import { type Caller, creatorOf } from '../../../core/access.js';
import { HubError } from '../../../core/errors.js';
import { Shares } from '../../../core/shares.js';

export interface StreamLimits {
  readonly streams: number;
  /** Different filters of the streams. */
  readonly filters: number;
  /** The limit in words, after the name of the user: `has 16 streams of events open`. */
  readonly inWords: string;
}

const RETRY_AFTER_S = 5;

export class StreamShares {
  readonly #limits: StreamLimits;
  /** Filters of the streams of each user, with how many streams have them. */
  readonly #users = new Shares<Map<string, number>>(() => new Map());

  constructor(limits: StreamLimits) {
    this.#limits = limits;
  }

  /** Counts a stream until the returned function is called, once. Throws TOO_MANY_STREAMS. While security is off, nobody is
   *  counted. */
  begin(caller: Caller, filter = ''): () => void {
    const name = creatorOf(caller);
    if (name === null) return () => undefined;
    const user = this.#users.of(name);
    const { held: filters } = user;
    try {
      this.#refuseBeyond(name, user.holders - 1, filters, filter);
    } catch (error) {
      this.#users.leave(user);
      throw error;
    }
    filters.set(filter, (filters.get(filter) ?? 0) + 1);
    return () => {
      const others = (filters.get(filter) ?? 1) - 1;
      if (others === 0) filters.delete(filter);
      else filters.set(filter, others);
      this.#users.leave(user);
    };
  }

  #refuseBeyond(name: string, open: number, filters: ReadonlyMap<string, number>, filter: string): void {
    const { streams, filters: most, inWords } = this.#limits;
    if (open >= streams) {
      throw tooMany(`${name} ${inWords}, which is the most for a user: end one of them`);
    }
    if (filters.size >= most && !filters.has(filter)) {
      throw tooMany(`${name} has streams with ${most} different filters open: use one of these, or end some`);
    }
  }
}

function tooMany(message: string): HubError {
  return new HubError('TOO_MANY_STREAMS', message, { retryAfterS: RETRY_AFTER_S });
}
