/** The public keys of the company's sign-on, by OpenID Connect discovery: fetched when they are first needed, again when
 *  they have grown old, and again when a token names a key that is not among them. */
import type { Logger } from '@workbench-hub/shared/runtime/logger';
import type { Runtime } from '@workbench-hub/shared/runtime/runtime';
import { createLocalJWKSet, type JSONWebKeySet } from 'jose';
import { z } from 'zod';
import { HubError } from '../core/errors.js';
import { fetchJson } from './bounded-json.js';
import { isSafeAddress } from './safe-address.js';

export interface ProviderKeysOptions {
  readonly issuer: string;
  /** Certificates in PEM that are trusted instead of those that come with Node; null: those. */
  readonly ca: string | null;
  readonly runtime: Runtime;
  readonly log: Logger;
}

export interface KeySet {
  readonly keyOf: ReturnType<typeof createLocalJWKSet>;
  /** Until then nothing needs to be asked anew, by the monotonic clock. */
  readonly freshUntilMs: number;
}

interface Fetched extends KeySet {
  readonly atMs: number;
}

/** So long before they are too old, and while the provider is away, the keys are asked for beside the requests, so that none
 *  has to wait. */
const ASK_AHEAD_MS = 60_000;
/** A request that could go on with the last keys waits no longer for newer ones. */
const MAX_HOLD_MS = 1000;
/** More requests than these do not wait for the provider: with tokens that nobody signed, a stranger could otherwise take all
 *  places of the hub while the provider hangs. */
const MAX_WAITING = 100;

/** A key that the provider withdraws counts for so long at most, as long as the provider can be reached. */
const FRESH_MS = 5 * 60_000;
/** While the provider cannot be reached, its last keys count until they are so old. */
const USABLE_MS = 60 * 60_000;
/** So long must lie between two tries, whether for an unknown key or after a failure. */
const PAUSE_MS = 10_000;

const discovered = z.object({ issuer: z.string(), jwks_uri: z.string() });
const keySet = z.object({ keys: z.array(z.looseObject({ kty: z.string() })) });

export class ProviderKeys {
  readonly #options: ProviderKeysOptions;
  #last: Fetched | undefined;
  #fetching: Promise<Fetched> | undefined;
  #triedAtMs = Number.NEGATIVE_INFINITY;
  #isFailing = false;
  #waiting = 0;

  constructor(options: ProviderKeysOptions) {
    this.#options = options;
  }

  /** The keys that count. Rejects with SIGN_ON_UNAVAILABLE when there are none and the provider cannot be asked. */
  async current(): Promise<KeySet> {
    const nowMs = this.#nowMs();
    const last = this.#last;
    if (!last || nowMs >= last.atMs + USABLE_MS) return this.#waitFor(this.#fetchAgain());
    if (nowMs < last.freshUntilMs) {
      if (nowMs >= last.freshUntilMs - ASK_AHEAD_MS && this.#waitMs() <= 0) this.#fetchBeside();
      return last;
    }
    const isSlow = this.#fetching !== undefined && nowMs >= this.#triedAtMs + MAX_HOLD_MS;
    if (!isSlow) await this.#hold(this.#fetchAgain());
    return this.#last ?? last;
  }

  /** The keys as they are now at the provider, for a token whose key is not in `known`; undefined when those are as new as
   *  may be. Rejects with SIGN_ON_UNAVAILABLE. */
  async newerThan(known: KeySet): Promise<KeySet | undefined> {
    if (this.#last && this.#last.keyOf !== known.keyOf) return this.#last;
    if (!this.#fetching && !this.#isFailing && this.#waitMs() > 0) return undefined;
    return this.#waitFor(this.#fetchAgain());
  }

  /** Rejects with SIGN_ON_UNAVAILABLE at once when too many wait already. */
  async #waitFor(fetched: Promise<Fetched>): Promise<Fetched> {
    if (this.#waiting >= MAX_WAITING) {
      fetched.catch(() => undefined);
      throw this.#unavailable();
    }
    this.#waiting++;
    try {
      return await fetched;
    } finally {
      this.#waiting--;
    }
  }

  /** Resolves when the keys are fetched, or cannot be, or that takes too long. */
  #hold(fetched: Promise<Fetched>): Promise<void> {
    return new Promise((resolve) => {
      const timer = this.#options.runtime.timers.after(MAX_HOLD_MS, resolve);
      const end = () => {
        timer.cancel();
        resolve();
      };
      fetched.then(end, end);
    });
  }

  /** A failure is logged there; who needs the keys asks again. */
  #fetchBeside(): void {
    this.#fetchAgain().catch(() => undefined);
  }

  /** One try at a time, for all who wait for it. */
  #fetchAgain(): Promise<Fetched> {
    this.#fetching ??= this.#fetch().finally(() => {
      this.#fetching = undefined;
    });
    return this.#fetching;
  }

  async #fetch(): Promise<Fetched> {
    const { issuer, log } = this.#options;
    if (this.#isFailing && this.#waitMs() > 0) throw this.#unavailable();
    this.#triedAtMs = this.#nowMs();
    try {
      const keyOf = createLocalJWKSet(await this.#ask());
      const atMs = this.#nowMs();
      this.#last = { keyOf, atMs, freshUntilMs: atMs + FRESH_MS };
      if (this.#isFailing) log.info({ issuer }, 'the sign-on can be reached again');
      this.#isFailing = false;
      return this.#last;
    } catch (error) {
      this.#isFailing = true;
      // Until the next try, nobody whose token the last keys verify waits for the provider.
      if (this.#last) this.#last = { ...this.#last, freshUntilMs: this.#nowMs() + PAUSE_MS };
      log.warn(
        { issuer, reason: (error as Error).message },
        'the keys of the sign-on cannot be fetched: who comes with its tokens may be refused; check security.oidc',
      );
      throw this.#unavailable();
    }
  }

  async #ask(): Promise<JSONWebKeySet> {
    const { issuer, runtime, ca } = this.#options;
    const source = { timers: runtime.timers, ca };
    const address = `${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`;
    const document = discovered.safeParse(await fetchJson(address, source));
    if (!document.success) throw new Error(`${address}: names no issuer and jwks_uri`);
    if (document.data.issuer !== issuer) {
      throw new Error(
        `${address}: names the issuer ${document.data.issuer}, but security.oidc.issuer is ${issuer}`,
      );
    }
    const { jwks_uri: keysAddress } = document.data;
    if (!isSafeAddress(keysAddress)) throw new Error(`${address}: its jwks_uri ${keysAddress} is not https`);
    const keys = keySet.safeParse(await fetchJson(keysAddress, source));
    if (!keys.success) throw new Error(`${keysAddress}: is no set of keys`);
    return keys.data;
  }

  #unavailable(): HubError {
    const retryAfterS = Math.max(1, Math.ceil(this.#waitMs() / 1000));
    return new HubError(
      'SIGN_ON_UNAVAILABLE',
      'the sign-on that issued this token cannot be reached, so the token cannot be checked: try again',
      { retryAfterS },
    );
  }

  #waitMs(): number {
    return this.#triedAtMs + PAUSE_MS - this.#nowMs();
  }

  #nowMs(): number {
    return this.#options.runtime.clock.monotonicMs();
  }
}
