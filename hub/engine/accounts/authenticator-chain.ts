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

/** A bearer token (RFC 6750, 2.1), of a length that any header can have, after few spaces. */
const FORM = /^Bearer {1,4}([\w.~+/=-]{1,16384})$/i;

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
    const token = FORM.exec(authorization)?.[1];
    const kind =
      token === undefined ? undefined : this.#kinds.find((candidate) => candidate.recognizes(token));
    if (!kind || token === undefined) {
      throw new HubError('UNAUTHENTICATED', 'the Authorization header holds no bearer token of this hub');
    }
    return kind.identify(token, asOfMs);
  }
}
