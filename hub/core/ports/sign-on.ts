/** Ports of the log-in by the company's sign-on. */

/** Secrets of one log-in, which its end must prove. */
export interface LogInChecks {
  readonly state: string;
  readonly verifier: string;
  /** Where the provider sends the browser. */
  readonly redirectUri: string;
}

export interface ProviderTokens {
  readonly accessToken: string;
  /** Undefined when the provider gives none. */
  readonly refreshToken: string | undefined;
}

/** The provider refused: it does not let the user in, or no longer. The message is its error code. */
export class ProviderRefusal extends Error {
  override readonly name = 'ProviderRefusal';
}

/** The provider, of which the hub is a client. All functions reject when it is away. */
export interface SignOnProvider {
  /** Begins a log-in: the address to which the browser goes, and what its end must prove. */
  begin(redirectUri: string): Promise<{ readonly location: string; readonly checks: LogInChecks }>;
  /** The tokens of a log-in that the provider ended with this query. Rejects with {@link ProviderRefusal}. */
  finish(query: string, checks: LogInChecks): Promise<ProviderTokens>;
  /** New tokens. Rejects with {@link ProviderRefusal}. */
  refresh(refreshToken: string): Promise<ProviderTokens>;
  /** Ends the log-in at the provider, if that can be done there. */
  revoke(refreshToken: string): Promise<void>;
}

/** Seals values that a browser keeps for the hub, and can neither read nor change. */
export interface Seal {
  /** The value in a form for a cookie; undefined when it is too long for one. */
  close(value: Readonly<Record<string, string>>, lifetimeMs: number): Promise<string | undefined>;
  /** The value again; undefined for anything but a value of this seal that has not expired. */
  open(sealed: string | undefined): Promise<Readonly<Record<string, unknown>> | undefined>;
}
