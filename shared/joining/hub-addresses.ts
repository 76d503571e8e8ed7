/** Addresses of the hubs that an agent may join: those of its configuration, and the others that its latest hub has told. The agent
 *  has an order of its own for any addresses, so that agents spread over the hubs, whichever of them are there. */
export class HubAddresses {
  readonly #nodeId: string;
  readonly #configured: readonly string[];
  #learned: readonly string[] = [];

  /** `nodeId` decides the order. */
  constructor(configured: readonly string[], nodeId: string) {
    this.#nodeId = nodeId;
    this.#configured = this.#ordered(configured);
  }

  /** Takes the addresses of the other hubs that the hub at `from` has told, in place of those before. Returns those that are not
   *  used, because they are none or have another scheme than `from`. */
  learn(from: string, told: readonly string[]): readonly string[] {
    const isUsable = (address: string) => isHubAddress(address) && schemeOf(address) === schemeOf(from);
    this.#learned = this.#ordered(told.filter(isUsable));
    return told.filter((address) => !isUsable(address));
  }

  /** Addresses in the order in which they are tried: first those of the configuration. The one that the agent has left comes last of
   *  its kind. */
  round(left: string | null): readonly string[] {
    const later = (address: string) => (left !== null && isSame(address, left) ? 1 : 0);
    return distinct(
      [this.#configured, this.#learned].flatMap((kind) => [...kind].sort((a, b) => later(a) - later(b))),
    );
  }

  /** Addresses to which an agent at `from` may move: those that its hub has asked for, then the other hubs, then the rest of the
   *  configuration. */
  movesFrom(from: string, to: readonly string[]): readonly string[] {
    const asked = to.filter((address) => isHubAddress(address) && schemeOf(address) === schemeOf(from));
    return distinct([...asked, ...this.#learned, ...this.#configured]).filter(
      (address) => !isSame(address, from),
    );
  }

  #ordered(addresses: readonly string[]): readonly string[] {
    const weighed = addresses.map((address) => ({
      address,
      weight: hash(`${this.#nodeId} ${plain(address)}`),
    }));
    return weighed.sort((a, b) => b.weight - a.weight).map(({ address }) => address);
  }
}

/** Whether the text is the base address of a hub: `ws://` or `wss://`, without user, query and fragment. */
export function isHubAddress(text: string): boolean {
  if (!URL.canParse(text)) return false;
  const { protocol, hostname, search, hash: fragment, username, password } = new URL(text);
  const isPlain = search === '' && fragment === '' && username === '' && password === '';
  return (protocol === 'ws:' || protocol === 'wss:') && hostname !== '' && isPlain;
}

function distinct(addresses: readonly string[]): string[] {
  const seen = new Set<string>();
  return addresses.filter((address) => {
    const form = plain(address);
    const isFirst = !seen.has(form);
    seen.add(form);
    return isFirst;
  });
}

function isSame(one: string, other: string): boolean {
  return plain(one) === plain(other);
}

/** The one form of addresses that differ in their spelling only. */
function plain(address: string): string {
  return new URL(address).href.replace(/\/+$/, '');
}

function schemeOf(address: string): string {
  return new URL(address).protocol;
}

/** 32 bits: FNV-1a, mixed by the last step of MurmurHash3, since addresses often differ in one digit only. */
function hash(text: string): number {
  let bits = 0x811c9dc5;
  for (let at = 0; at < text.length; at++) bits = Math.imul(bits ^ text.charCodeAt(at), 0x01000193);
  bits = Math.imul(bits ^ (bits >>> 16), 0x85ebca6b);
  bits = Math.imul(bits ^ (bits >>> 13), 0xc2b2ae35);
  return (bits ^ (bits >>> 16)) >>> 0;
}
