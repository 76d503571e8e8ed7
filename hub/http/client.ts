/** From where a request comes, through the reverse proxies that are trusted (server.trustedProxies). */
import type { IncomingMessage } from 'node:http';
import type { TLSSocket } from 'node:tls';
import proxyAddr from 'proxy-addr';

/** Tells whether an address is that of a proxy whose word about its client is taken. */
export type TrustedProxies = (address: string, hop: number) => boolean;

/** Of addresses and networks such as `10.0.0.1` and `10.0.0.0/8`. Throws for anything else. */
export function trustedProxies(networks: readonly string[]): TrustedProxies {
  return proxyAddr.compile([...networks]);
}

export class Client {
  readonly #request: IncomingMessage;
  readonly #trusted: TrustedProxies;

  constructor(request: IncomingMessage, trusted: TrustedProxies) {
    this.#request = request;
    this.#trusted = trusted;
  }

  /** The nearest address that is no trusted proxy; empty when the connection is gone. What others claim to forward for
   *  is ignored. */
  get address(): string {
    return this.#request.socket.remoteAddress === undefined ? '' : proxyAddr(this.#request, this.#trusted);
  }

  /** Whether the client's side is TLS: the hub's own, or that of a trusted proxy. */
  get isSecure(): boolean {
    const { socket, headers } = this.#request;
    if ((socket as TLSSocket).encrypted) return true;
    const forwarded = headers['x-forwarded-proto'];
    return (
      this.#isBehindProxy &&
      String(forwarded ?? '')
        .split(',')[0]
        ?.trim()
        .toLowerCase() === 'https'
    );
  }

  get #isBehindProxy(): boolean {
    const { remoteAddress } = this.#request.socket;
    return remoteAddress !== undefined && this.#trusted(remoteAddress, 0);
  }
}
