/** Mixed load: a client for each interface, which uses it again and again. */
import { setTimeout as pause } from 'node:timers/promises';
import { type SeededRandom, seededRandom } from '../support/random.js';
import { Caller } from './caller.js';
import { USES, type UseContext } from './interfaces.js';

export interface MixedLoadOptions extends Pick<UseContext, 'token' | 'operatorToken' | 'notify'> {
  /** Addresses of the hubs; each request goes to any of them. */
  readonly baseUrls: readonly string[];
}

export class MixedLoad {
  /** Successful uses by interface. */
  readonly uses = new Map<string, number>(Object.keys(USES).map((name) => [name, 0]));
  readonly #options: MixedLoadOptions;
  readonly #random: SeededRandom;
  readonly #caller: Caller;
  #isStopping = false;

  constructor(options: MixedLoadOptions, random: SeededRandom) {
    this.#options = options;
    this.#random = random;
    this.#caller = new Caller(options.baseUrls, seededRandom(random.below(1e9)));
  }

  /** Responses by status; 0 for requests without one. */
  get answers(): ReadonlyMap<number, number> {
    return this.#caller.answers;
  }

  /** Responses that must never occur. */
  get violations(): readonly string[] {
    return this.#caller.violations;
  }

  /** Uses all interfaces until {@link stop}; resolves when the last uses have ended. */
  async run(): Promise<void> {
    this.#isStopping = false;
    await Promise.all(Object.keys(USES).map((name) => this.#client(name)));
  }

  stop(): void {
    this.#isStopping = true;
  }

  async #client(name: string): Promise<void> {
    const random = seededRandom(this.#random.below(1e9));
    const context = { ...this.#options, caller: this.#caller, random };
    while (!this.#isStopping) {
      if (await USES[name]?.(context)) this.uses.set(name, (this.uses.get(name) ?? 0) + 1);
      await pause(100 + random.below(300));
    }
  }
}
