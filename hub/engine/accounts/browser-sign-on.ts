/**
 * Log-in of browsers by the sign-on. The hub stores nothing of it: secrets of a log-in and the refresh token are sealed, and kept by
 * the browser.
 */
import type { Logger } from '@workbench-hub/shared/runtime/logger';
import type { Clock } from '@workbench-hub/shared/runtime/runtime';
import { HubError } from '../../core/errors.js';
import type { Secrets } from '../../core/ports/accounts.js';
import {
  type LogInChecks,
  ProviderRefusal,
  type ProviderTokens,
  type Seal,
  type SignOnProvider,
} from '../../core/ports/sign-on.js';
import type { Authenticator } from './authenticator-chain.js';

/** Time for a user to log in at the provider. */
export const LOG_IN_MS = 15 * 60_000;

/** Time in which a spent refresh token gives the same tokens again, to another tab or after a lost response. */
const GRACE_MS = 15_000;

/** Maximum requests that wait for the provider. */
const MAX_WAITING = 100;

/** Faults of a log-in itself. All others are those of the configuration. */
const EXPECTED_REFUSALS = [
  'access_denied',
  'login_required',
  'consent_required',
  'interaction_required',
  'invalid_grant',
];

export interface BrowserSignOnOptions {
  readonly provider: SignOnProvider;
  /** Identifies the holders of the provider's access tokens. */
  readonly authenticator: Authenticator;
  readonly logInSeal: Seal;
  readonly refreshSeal: Seal;
  /** Longest time without a refresh. */
  readonly lifetimeMs: number;
  readonly secrets: Pick<Secrets, 'hashOf'>;
  readonly clock: Clock;
  readonly log: Logger;
}

export interface SignedOn {
  readonly username: string;
  readonly accessToken: string;
  /** Token that continues the log-in; undefined when it ends with its access token. */
  readonly refresh: string | undefined;
}

export class BrowserSignOn {
  readonly #options: BrowserSignOnOptions;
  /** Tokens of the latest refreshes, by the hash of the spent token. */
  readonly #recent = new Map<string, { readonly tokens: Promise<ProviderTokens>; readonly atMs: number }>();
  #waiting = 0;

  constructor(options: BrowserSignOnOptions) {
    this.#options = options;
  }

  /** Begins a log-in that ends at this address. Rejects with SIGN_ON_UNAVAILABLE. */
  async begin(redirectUri: string): Promise<{ readonly location: string; readonly logIn: string }> {
    const { provider, logInSeal } = this.#options;
    const { location, checks } = await this.#asked(() => provider.begin(redirectUri));
    const logIn = await logInSeal.close({ ...checks }, LOG_IN_MS);
    if (logIn === undefined) throw new Error('the secrets of a log-in do not fit into a cookie');
    return { location, logIn };
  }

  /**
   * Ends a log-in with the query of the address to which the provider sent the browser. Rejects with UNAUTHENTICATED, FORBIDDEN and
   * SIGN_ON_UNAVAILABLE.
   */
  async finish(query: string, logIn: string | undefined): Promise<SignedOn> {
    const { provider, logInSeal } = this.#options;
    const checks = (await logInSeal.open(logIn)) as LogInChecks | undefined;
    if (!checks || new URLSearchParams(query).get('state') !== checks.state) {
      throw new HubError(
        'UNAUTHENTICATED',
        'this is not the end of a log-in that this browser began in the last 15 minutes: begin it again',
      );
    }
    return this.#signedOn(await this.#asked(() => provider.finish(query, checks)));
  }

  /** New tokens for what continues a log-in. Rejects as {@link finish}. */
  async refresh(sealed: string | undefined): Promise<SignedOn> {
    const token = await this.#refreshTokenIn(sealed);
    if (token === undefined)
      throw new HubError('UNAUTHENTICATED', 'no log-in by the sign-on is to be continued: begin one');
    return this.#signedOn(await this.#refreshed(token));
  }

  /** Ends a log-in at the provider, as far as that can be done. */
  async end(sealed: string | undefined): Promise<void> {
    const token = await this.#refreshTokenIn(sealed);
    if (token === undefined) return;
    const { provider, log } = this.#options;
    await this.#asked(() => provider.revoke(token)).catch((error: Error) => {
      log.debug({ reason: error.message }, 'a log-in of the sign-on could not be ended at the provider');
    });
  }

  /** Tokens that the provider gives once for this one, remembered even while the hub cannot check them. */
  #refreshed(token: string): Promise<ProviderTokens> {
    const { provider, secrets, clock } = this.#options;
    const hash = secrets.hashOf(token);
    const atMs = clock.monotonicMs();
    for (const [spent, recent] of this.#recent)
      if (recent.atMs + GRACE_MS <= atMs) this.#recent.delete(spent);
    const known = this.#recent.get(hash);
    if (known) return known.tokens;
    const tokens = this.#asked(() => provider.refresh(token));
    this.#recent.set(hash, { tokens, atMs });
    // A failure may pass.
    tokens.catch(() => this.#recent.delete(hash));
    return tokens;
  }

  async #refreshTokenIn(sealed: string | undefined): Promise<string | undefined> {
    const opened = await this.#options.refreshSeal.open(sealed);
    return opened?.['refreshToken'] as string | undefined;
  }

  /** The log-in, if the hub accepts the token. */
  async #signedOn({ accessToken, refreshToken }: ProviderTokens): Promise<SignedOn> {
    const { authenticator, refreshSeal, lifetimeMs, log } = this.#options;
    if (!authenticator.recognizes(accessToken)) {
      log.warn(
        'the access tokens of the sign-on are not its own signed ones (JWT): check scopes and resource',
      );
      throw new HubError('UNAUTHENTICATED', 'the sign-on gave a token that this hub cannot read');
    }
    const { username } = await authenticator.identify(accessToken);
    if (refreshToken === undefined) return { username, accessToken, refresh: undefined };
    const refresh = await refreshSeal.close({ refreshToken }, lifetimeMs);
    if (refresh === undefined)
      log.warn(
        'the refresh tokens of the sign-on do not fit into a cookie: log-ins end with their access tokens',
      );
    return { username, accessToken, refresh };
  }

  /** Rejects with SIGN_ON_UNAVAILABLE when the provider is away, and at once when many requests wait for it. */
  async #asked<T>(ask: () => Promise<T>): Promise<T> {
    if (this.#waiting >= MAX_WAITING) throw unavailable();
    this.#waiting++;
    try {
      return await ask();
    } catch (error) {
      throw this.#refused(error as Error);
    } finally {
      this.#waiting--;
    }
  }

  #refused(error: Error): HubError {
    const { log } = this.#options;
    if (!(error instanceof ProviderRefusal)) {
      log.warn({ reason: reasonOf(error) }, 'the sign-on cannot log a browser in; check security.oidc');
      return unavailable();
    }
    if (!EXPECTED_REFUSALS.includes(error.message))
      log.warn({ reason: error.message }, 'the sign-on refuses this hub; check security.oidc.browserLogin');
    return new HubError('UNAUTHENTICATED', `the sign-on does not log you in, or no longer: ${error.message}`);
  }
}

function unavailable(): HubError {
  return new HubError('SIGN_ON_UNAVAILABLE', 'the sign-on cannot be reached: try again', { retryAfterS: 5 });
}

/** Innermost message: that of the library says little. */
function reasonOf(error: Error): string {
  return error.cause instanceof Error ? reasonOf(error.cause) : error.message;
}
