/** The client of a request, as trusted reverse proxies report it (server.trustedProxies). */
import type { IncomingMessage } from 'node:http';
import { isIP } from 'node:net';
import type { TLSSocket } from 'node:tls';
import proxyAddr from 'proxy-addr';

/** Whether an address is that of a trusted proxy. */
export type TrustedProxies = (address: string, hop: number) => boolean;

/** Takes addresses and networks such as `10.0.0.1` and `10.0.0.0/8`. Throws for anything else. */
export function trustedProxies(networks: readonly string[]): TrustedProxies {
  return proxyAddr.compile([...networks]);
}

/** Address such as `192.0.2.7` or `2001:db8::7`, without port and IPv4 prefix (`::ffff:`); undefined for a malformed one. */
function plainAddress(text: string): string | undefined {
  const [, ofBrackets, ofPort] = /^(?:\[([^\]]+)\](?::\d+)?|([\d.]+):\d+)$/.exec(text) ?? [];
  const bare = ofBrackets ?? ofPort ?? text;
  const address = /^::ffff:([\d.]+)$/i.exec(bare)?.[1] ?? bare;
  return isIP(address) === 0 ? undefined : address;
}

/** Groups of an IPv6 address that name the network. */
const NETWORK_GROUPS = 4;

function networkOf(address: string): string {
  if (isIP(address) !== 6) return address;
  const [head = '', tail] = address.split('::');
  const groupsOf = (part: string) => part.split(':').filter((group) => group !== '');
  const first = groupsOf(head);
  const last = groupsOf(tail ?? '');
  const zeros = Array.from({ length: Math.max(0, 8 - first.length - last.length) }, () => '0');
  return `${[...first, ...zeros, ...last].slice(0, NETWORK_GROUPS).join(':')}::/64`;
}

/** proxyAddr() of the package is unsuitable: it returns addresses as they were sent, with ports, and malformed ones. */
export class Client {
  readonly #request: IncomingMessage;
  readonly #trusted: TrustedProxies;

  constructor(request: IncomingMessage, trusted: TrustedProxies) {
    this.#request = request;
    this.#trusted = trusted;
  }

  /** The nearest address that is not a trusted proxy; empty when the connection has ended. Claims of other proxies and malformed
   *  addresses are ignored. */
  get address(): string {
    const { socket, headers } = this.#request;
    let nearest = plainAddress(socket.remoteAddress ?? '') ?? '';
    const chain = String(headers['x-forwarded-for'] ?? '').split(',');
    // Each proxy appends the address that it forwards for.
    while (nearest !== '' && chain.length > 0 && this.#trusted(nearest, 0)) {
      const text = (chain.pop() ?? '').trim();
      if (text === '') continue;
      const further = plainAddress(text);
      if (further === undefined) break;
      nearest = further;
    }
    return nearest;
  }

  /** The address, or the network of an IPv6 address: a machine has all the addresses of its network (RFC 4291, 2.5.4). */
  get network(): string {
    return networkOf(this.address);
  }

  /** Whether the client uses TLS, to the hub or to a trusted proxy. */
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
