/** Finds out who presents a bearer token, whatever kind of token it is. */
import type { Caller } from '../../core/access.js';
import { HubError } from '../../core/errors.js';

/** One kind of token. */
export interface Authenticator {
  /** Whether the token is of this kind, by its looks; nothing is proven by that. */
  recognizes(token: string): boolean;
  /** Who holds the token. Rejects with UNAUTHENTICATED when it is not valid (any more). With `asOfMs`, a token counts that had
   *  not expired at that moment, if nothing else has ended it by now. */
  identify(token: string, asOfMs?: number): Promise<Caller>;
}

/** Longer ones are refused unread. */
const MAX_TOKEN_LENGTH = 16_384;

export class AuthenticatorChain {
  readonly #kinds: readonly Authenticator[];

  constructor(kinds: readonly Authenticator[]) {
    this.#kinds = kinds;
  }

  /** Of an `Authorization` header. Rejects with UNAUTHENTICATED. `asOfMs` as in {@link Authenticator.identify}. */
  async identify(authorization: string | undefined, asOfMs?: number): Promise<Caller> {
    if (authorization === undefined) {
      throw new HubError(
        'UNAUTHENTICATED',
        'a token is required: log in at /api/2.0/auth/login and send "Authorization: Bearer <accessToken>"',
      );
    }
    const token = /^Bearer +([\w.~+/=-]+) *$/i.exec(authorization)?.[1];
    const kind =
      token === undefined || token.length > MAX_TOKEN_LENGTH
        ? undefined
        : this.#kinds.find((candidate) => candidate.recognizes(token));
    if (!kind || token === undefined) {
      throw new HubError('UNAUTHENTICATED', 'the Authorization header holds no bearer token of this hub');
    }
    return kind.identify(token, asOfMs);
  }
}
