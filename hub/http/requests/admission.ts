/**
 * Admission control: how much the hub takes on at once. Beyond its limits a request is refused with OVERLOADED immediately,
 * which costs next to nothing, so that admitted requests are served in time and within memory. Agents are not limited here,
 * and endpoints by which operators watch and repair the hub are always served.
 *
 * While security is on, each limit is also shared (contract 12.37): a user holds at most twice of what is left of it for all
 * others, and so does an address among requests whose sender is not known. All of those together hold a quarter.
 */
import { HubError } from '../../core/errors.js';
import { type Holding, isBeyondShare, Shares } from '../../core/shares.js';

export interface AdmissionLimits {
  /** Requests in processing, from the end of their body to their response. */
  readonly requests: number;
  /** Open requests, including those whose body is arriving and those that wait for the end of a task. */
  readonly openRequests: number;
  /** Bytes of bodies held in memory, over all requests. */
  readonly bodiesInMemory: number;
}

/** Whom a request is counted for before its user is known: an address, apart for endpoints that are open to all. */
export interface Sender {
  readonly address: string;
  readonly isOpenEndpoint: boolean;
}

/** Share of the hub's capacity that a request holds. `identify`, `hold` and `startWork` throw OVERLOADED at the limit. */
export interface RequestPermit {
  /** Counts the request for this user from now on. */
  identify(username: string): void;
  /** Counts bytes of the body as held until the request suspends or ends. */
  hold(bytes: number): void;
  /** Counts the request as in processing: its body has arrived. */
  startWork(): void;
  /** Counts the request as waiting only: its response is deferred. */
  suspend(): void;
  /** Ends the permit. */
  release(): void;
}

/** Delay after which a refused client may retry: admitted requests have usually finished by then. */
const RETRY_AFTER_S = 1;

/** Part of each limit for all requests of unknown senders. */
const UNKNOWN_PART = 1 / 4;

/** Permit of requests that are always served. */
export const ALWAYS_ADMITTED: RequestPermit = {
  identify: () => undefined,
  hold: () => undefined,
  startWork: () => undefined,
  suspend: () => undefined,
  release: () => undefined,
};

type Resource = keyof AdmissionLimits;

/** Capacity in use. */
type Usage = Record<Resource, number>;

const IN_WORDS: Readonly<Record<Resource, { readonly held: string; readonly shared: string }>> = {
  requests: { held: 'requests are in progress', shared: 'the requests that can be in progress' },
  openRequests: { held: 'requests are open', shared: 'the requests that can be open' },
  bodiesInMemory: { held: 'bytes of bodies are held', shared: 'the memory for request bodies' },
};

export class Admission {
  readonly #all: Pool;
  readonly #unidentified: Pool;
  readonly #open: Pool;

  constructor(limits: AdmissionLimits) {
    this.#all = new Pool(limits);
    const part = partOf(limits);
    this.#unidentified = new Pool(part);
    this.#open = new Pool(part);
  }

  /** Number of users and addresses that hold something. */
  get parties(): number {
    return this.#all.parties.size + this.#unidentified.parties.size + this.#open.parties.size;
  }

  /** Admits a request; `sender` is null while security is off, when nobody has a share. Throws OVERLOADED. */
  enter(sender: Sender | null): RequestPermit {
    const pool = sender?.isOpenEndpoint ? this.#open : this.#unidentified;
    return new IssuedPermit(this.#all, sender && { pool, name: sender.address });
  }
}

/** Shares that the requests of some senders may hold, and the requests themselves. */
class Pool {
  readonly limits: AdmissionLimits;
  readonly usage: Usage = nothing();
  readonly parties = new Shares<Usage>(nothing);

  constructor(limits: AdmissionLimits) {
    this.limits = limits;
  }

  /** Throws OVERLOADED unless so much more may be held by this party. */
  refuseBeyond(resource: Resource, amount: number, party: Holding<Usage>, isOfUser: boolean): void {
    const limit = this.limits[resource];
    const free = limit - this.usage[resource];
    const { shared } = IN_WORDS[resource];
    if (!isOfUser && amount > free) {
      throw overloaded(`requests without a valid token hold their part of ${shared} (limits.${resource})`);
    }
    if (!isBeyondShare(party.held[resource], amount, free)) return;
    const held = party.held[resource];
    throw overloaded(`${party.name} holds ${held} of ${shared} (limits.${resource})`);
  }
}

interface Party {
  readonly pool: Pool;
  readonly name: string;
}

class IssuedPermit implements RequestPermit {
  readonly #all: Pool;
  readonly #held: Usage = nothing();
  #pool: Pool | null;
  #party: Holding<Usage> | null;
  #isReleased = false;

  constructor(all: Pool, party: Party | null) {
    this.#all = all;
    this.#pool = party?.pool ?? null;
    this.#party = party === null ? null : party.pool.parties.of(party.name);
    try {
      this.#take('openRequests', 1);
    } catch (error) {
      this.release();
      throw error;
    }
  }

  identify(username: string): void {
    const held = { ...this.#held };
    for (const resource of RESOURCES) this.#add(resource, -held[resource]);
    if (this.#party) this.#pool?.parties.leave(this.#party);
    this.#party = this.#all.parties.of(username);
    this.#pool = this.#all;
    try {
      this.#all.refuseBeyond('openRequests', 1, this.#party, true);
    } finally {
      for (const resource of RESOURCES) this.#add(resource, held[resource]);
    }
  }

  hold(bytes: number): void {
    this.#take('bodiesInMemory', bytes);
  }

  startWork(): void {
    this.#take('requests', 1);
  }

  suspend(): void {
    this.#add('requests', -this.#held.requests);
    this.#add('bodiesInMemory', -this.#held.bodiesInMemory);
  }

  release(): void {
    if (this.#isReleased) return;
    this.#isReleased = true;
    this.suspend();
    this.#add('openRequests', -this.#held.openRequests);
    if (this.#party) this.#pool?.parties.leave(this.#party);
  }

  #take(resource: Resource, amount: number): void {
    const limit = this.#all.limits[resource];
    if (this.#all.usage[resource] + amount > limit) {
      throw overloaded(
        resource === 'bodiesInMemory'
          ? 'request bodies fill the memory for them (limits.bodiesInMemory)'
          : `${limit} ${IN_WORDS[resource].held} (limits.${resource})`,
      );
    }
    if (this.#party) this.#pool?.refuseBeyond(resource, amount, this.#party, this.#pool === this.#all);
    this.#add(resource, amount);
  }

  #add(resource: Resource, amount: number): void {
    this.#held[resource] += amount;
    this.#all.usage[resource] += amount;
    if (this.#party === null || this.#pool === null) return;
    this.#party.held[resource] += amount;
    if (this.#pool !== this.#all) this.#pool.usage[resource] += amount;
  }
}

const RESOURCES = ['requests', 'openRequests', 'bodiesInMemory'] as const satisfies readonly Resource[];

function nothing(): Usage {
  return { requests: 0, openRequests: 0, bodiesInMemory: 0 };
}

function partOf({ requests, openRequests, bodiesInMemory }: AdmissionLimits): AdmissionLimits {
  const part = (limit: number) => Math.max(1, Math.floor(limit * UNKNOWN_PART));
  return {
    requests: part(requests),
    openRequests: part(openRequests),
    bodiesInMemory: part(bodiesInMemory),
  };
}

function overloaded(why: string): HubError {
  return new HubError('OVERLOADED', `the hub is overloaded: ${why}; try again later`, {
    retryAfterS: RETRY_AFTER_S,
  });
}
