/** The provider's public keys, by OpenID Connect discovery: fetched when first needed, when they are old, and when a
 *  token names an unknown key. */
import type { Logger } from '@workbench-hub/shared/runtime/logger';
import type { Runtime } from '@workbench-hub/shared/runtime/runtime';
import { createLocalJWKSet, type JSONWebKeySet } from 'jose';
import { z } from 'zod';
import { HubError } from '../core/errors.js';
import { fetchJson } from './bounded-request.js';
import { isSafeAddress } from './safe-address.js';

export interface ProviderKeysOptions {
  readonly issuer: string;
  /** Trusted certificates in PEM instead of Node's; null for Node's. */
  readonly ca: string | null;
  readonly runtime: Runtime;
  readonly log: Logger;
}

export interface KeySet {
  readonly keyOf: ReturnType<typeof createLocalJWKSet>;
  /** No fetch is needed before this monotonic time. */
  readonly freshUntilMs: number;
}

interface Fetched extends KeySet {
  readonly atMs: number;
}

/** Time before their end at which keys are fetched in the background, so that no request waits. */
const ASK_AHEAD_MS = 60_000;
/** Maximum wait of a request that can use the former keys. */
const MAX_HOLD_MS = 1000;
/** Maximum requests that wait for the provider: otherwise forged tokens could occupy all request permits while it
 *  hangs. */
const MAX_WAITING = 100;

/** Maximum age of keys while the provider is reachable, which bounds the life of a withdrawn key. */
const FRESH_MS = 5 * 60_000;
/** Maximum age of keys while the provider is unreachable. */
const USABLE_MS = 60 * 60_000;
/** Minimum interval between fetches, for an unknown key or after a failure. */
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

  /** The valid keys. Rejects with SIGN_ON_UNAVAILABLE when there are none and the provider is unreachable. */
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

  /** Newly fetched keys for a token whose key is not in `known`; undefined when those are recent. Rejects with
   *  SIGN_ON_UNAVAILABLE. */
  async newerThan(known: KeySet): Promise<KeySet | undefined> {
    if (this.#last && this.#last.keyOf !== known.keyOf) return this.#last;
    if (!this.#fetching && !this.#isFailing && this.#waitMs() > 0) return undefined;
    return this.#waitFor(this.#fetchAgain());
  }

  /** Rejects with SIGN_ON_UNAVAILABLE at once when too many requests wait. */
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

  /** Resolves when the keys are fetched, the fetch failed, or time is up. */
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

  /** Failures are logged by the fetch, and seen by the next lookup. */
  #fetchBeside(): void {
    this.#fetchAgain().catch(() => undefined);
  }

  /** One fetch at a time, shared by all who wait. */
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
      // Until the next fetch, tokens of known keys are verified without waiting.
      if (this.#last) this.#last = { ...this.#last, freshUntilMs: this.#nowMs() + PAUSE_MS };
      log.warn(
        { issuer, reason: (error as Error).message },
        'the keys of the sign-on cannot be fetched: requests with its tokens may be refused; check security.oidc',
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
