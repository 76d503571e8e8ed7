/**
 * How much the hub takes on at once. Beyond its limits a request is refused with OVERLOADED at once, which costs next to
 * nothing, so that those that were taken are served in time and in the memory that there is. Agents have a link of their
 * own, and what an operator needs to see and to mend the hub is always served.
 */
import { HubError } from '../../core/errors.js';

export interface AdmissionLimits {
  /** Requests that are worked on, from the end of their body to their answer. */
  readonly requests: number;
  /** Requests that are open: also those whose body is on its way, and those that wait for the end of a task. */
  readonly openRequests: number;
  /** Bytes of bodies that are held in memory, over all requests. */
  readonly bodiesInMemory: number;
}

/** What a request takes up. Each of its steps throws OVERLOADED when there is no room for it. */
export interface RequestPermit {
  /** So many more bytes of its body are held until it is answered. */
  hold(bytes: number): void;
  /** The body is there, the work begins. */
  work(): void;
  /** The work rests: what the request waits for comes without the hub doing anything for it. */
  rest(): void;
  /** The answer is made. */
  leave(): void;
}

/** Whoever is refused may try again so soon: what was taken on is done by then, as a rule. */
const RETRY_AFTER_S = 1;

/** Of what is always served. */
export const ALWAYS_ADMITTED: RequestPermit = {
  hold: () => undefined,
  work: () => undefined,
  rest: () => undefined,
  leave: () => undefined,
};

export class Admission {
  readonly #limits: AdmissionLimits;
  readonly #taken: Taken = { open: 0, atWork: 0, heldBytes: 0 };

  constructor(limits: AdmissionLimits) {
    this.#limits = limits;
  }

  /** Takes a request on. Throws OVERLOADED. */
  enter(): RequestPermit {
    return new TakenPlace(this.#limits, this.#taken);
  }
}

/** What all requests take up. */
interface Taken {
  open: number;
  atWork: number;
  heldBytes: number;
}

class TakenPlace implements RequestPermit {
  readonly #limits: AdmissionLimits;
  readonly #taken: Taken;
  #heldBytes = 0;
  #isAtWork = false;
  #hasLeft = false;

  constructor(limits: AdmissionLimits, taken: Taken) {
    const { openRequests } = limits;
    if (taken.open >= openRequests) {
      throw overloaded(`${openRequests} requests are open (limits.openRequests)`);
    }
    taken.open++;
    this.#limits = limits;
    this.#taken = taken;
  }

  hold(bytes: number): void {
    if (this.#taken.heldBytes + bytes > this.#limits.bodiesInMemory) {
      throw overloaded(`the bodies of requests fill the memory for them (limits.bodiesInMemory)`);
    }
    this.#taken.heldBytes += bytes;
    this.#heldBytes += bytes;
  }

  work(): void {
    const { requests } = this.#limits;
    if (this.#taken.atWork >= requests) {
      throw overloaded(`it works on ${requests} requests (limits.requests)`);
    }
    this.#taken.atWork++;
    this.#isAtWork = true;
  }

  rest(): void {
    if (this.#isAtWork) this.#taken.atWork--;
    this.#taken.heldBytes -= this.#heldBytes;
    this.#isAtWork = false;
    this.#heldBytes = 0;
  }

  leave(): void {
    if (this.#hasLeft) return;
    this.#hasLeft = true;
    this.rest();
    this.#taken.open--;
  }
}

function overloaded(why: string): HubError {
  return new HubError('OVERLOADED', `the hub has more to do than it can: ${why}; try again later`, {
    retryAfterS: RETRY_AFTER_S,
  });
}
