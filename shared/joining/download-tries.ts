/** The tries of one download from a hub that are left, and the pauses between them. */
import { type BackOff, backOff } from '../runtime/back-off.js';
import { TransferFailed } from './ports/hub.js';

const FIRST_PAUSE_MS = 500;
const LONGEST_PAUSE_MS = 8000;
/** Number of tries without progress on a connected hub. Tries that end with the link, and those of a hub that cannot use its store, do
 *  not count. */
const TRIES = 5;

export class DownloadTries {
  readonly #pauses: BackOff;
  #left = TRIES;
  #furthestBytes = 0;

  constructor(random: () => number) {
    this.#pauses = backOff(FIRST_PAUSE_MS, LONGEST_PAUSE_MS, random);
  }

  get left(): number {
    return this.#left;
  }

  /** Counts a try after which `keptBytes` of the blob are there. `isLinkEnded`: the link ended meanwhile. */
  failed(error: unknown, keptBytes: number, isLinkEnded: boolean): void {
    if (keptBytes > this.#furthestBytes) {
      // There was progress: frequent interruptions are no reason to give up.
      this.#furthestBytes = keptBytes;
      this.#left = TRIES;
      this.#pauses.reset();
    } else if (isLinkEnded) this.#pauses.reset();
    else if (!isUnavailable(error)) this.#left--;
  }

  nextPauseMs(): number {
    return this.#pauses.nextMs();
  }
}

/** Whether the hub could not use its store. */
function isUnavailable(error: unknown): boolean {
  return error instanceof TransferFailed && error.failure === 'UNAVAILABLE';
}
