/**
 * Admission control: how much the hub takes on at once. Beyond its limits a request is refused with OVERLOADED immediately,
 * which costs next to nothing, so that admitted requests are served in time and within memory. Agents are not limited here,
 * and endpoints by which operators watch and repair the hub are always served.
 */
import { HubError } from '../../core/errors.js';

export interface AdmissionLimits {
  /** Requests in processing, from the end of their body to their response. */
  readonly requests: number;
  /** Open requests, including those whose body is arriving and those that wait for the end of a task. */
  readonly openRequests: number;
  /** Bytes of bodies held in memory, over all requests. */
  readonly bodiesInMemory: number;
}

/** Share of the hub's capacity that a request holds. `hold` and `startWork` throw OVERLOADED at the limit. */
export interface RequestPermit {
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

/** Permit of requests that are always served. */
export const ALWAYS_ADMITTED: RequestPermit = {
  hold: () => undefined,
  startWork: () => undefined,
  suspend: () => undefined,
  release: () => undefined,
};

export class Admission {
  readonly #limits: AdmissionLimits;
  readonly #usage: Usage = { open: 0, working: 0, heldBytes: 0 };

  constructor(limits: AdmissionLimits) {
    this.#limits = limits;
  }

  /** Throws OVERLOADED. */
  enter(): RequestPermit {
    return new IssuedPermit(this.#limits, this.#usage);
  }
}

/** Capacity in use by all requests. */
interface Usage {
  open: number;
  working: number;
  heldBytes: number;
}

class IssuedPermit implements RequestPermit {
  readonly #limits: AdmissionLimits;
  readonly #usage: Usage;
  #heldBytes = 0;
  #isWorking = false;
  #isReleased = false;

  constructor(limits: AdmissionLimits, usage: Usage) {
    const { openRequests } = limits;
    if (usage.open >= openRequests) {
      throw overloaded(`${openRequests} requests are open (limits.openRequests)`);
    }
    usage.open++;
    this.#limits = limits;
    this.#usage = usage;
  }

  hold(bytes: number): void {
    if (this.#usage.heldBytes + bytes > this.#limits.bodiesInMemory) {
      throw overloaded('request bodies fill the memory for them (limits.bodiesInMemory)');
    }
    this.#usage.heldBytes += bytes;
    this.#heldBytes += bytes;
  }

  startWork(): void {
    const { requests } = this.#limits;
    if (this.#usage.working >= requests) {
      throw overloaded(`${requests} requests are in progress (limits.requests)`);
    }
    this.#usage.working++;
    this.#isWorking = true;
  }

  suspend(): void {
    if (this.#isWorking) this.#usage.working--;
    this.#usage.heldBytes -= this.#heldBytes;
    this.#isWorking = false;
    this.#heldBytes = 0;
  }

  release(): void {
    if (this.#isReleased) return;
    this.#isReleased = true;
    this.suspend();
    this.#usage.open--;
  }
}

function overloaded(why: string): HubError {
  return new HubError('OVERLOADED', `the hub is overloaded: ${why}; try again later`, {
    retryAfterS: RETRY_AFTER_S,
  });
}
