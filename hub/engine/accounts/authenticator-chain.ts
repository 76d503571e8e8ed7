/** Identification of the holder of a bearer token, of any kind. */
import type { Caller } from '../../core/access.js';
import { HubError } from '../../core/errors.js';

/** Authenticator of one kind of token. */
export interface Authenticator {
  /** True when the token has the form of this kind, unverified. */
  recognizes(token: string): boolean;
  /** Identifies the holder. Rejects with UNAUTHENTICATED when the token is not valid. With `asOfMs`, a token that was
   *  not expired at that time is valid, unless it was ended otherwise. */
  identify(token: string, asOfMs?: number): Promise<Caller>;
}

/** Longer tokens are refused without being read. */
const MAX_TOKEN_LENGTH = 16_384;

export class AuthenticatorChain {
  readonly #kinds: readonly Authenticator[];

  constructor(kinds: readonly Authenticator[]) {
    this.#kinds = kinds;
  }

  /** Identifies the caller by an `Authorization` header. Rejects with UNAUTHENTICATED. `asOfMs` as in {@link
   *  Authenticator.identify}. */
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
