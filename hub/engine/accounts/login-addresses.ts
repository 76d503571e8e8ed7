/** Places from which users have logged in lately: their attempts go before those of others, and are counted by themselves. */
import type { Clock } from '@workbench-hub/shared/runtime/runtime';

/** A working day. */
const REMEMBERED_MS = 12 * 3_600_000;

/** More than these are not remembered: the user, or the place, that logged in longest ago is forgotten. */
const MAX_USERS = 10_000;
const MAX_PLACES_OF_USER = 20;

/** What counts as one place: an IPv4 address, or the 64 bits of an IPv6 address that name a network, since a single host may
 *  use all addresses in it. An unknown address is a place, too. */
export function placeOf(address: string): string {
  if (!address.includes(':')) return address;
  const [head = '', tail = ''] = address.toLowerCase().split('::');
  const ahead = head === '' ? [] : head.split(':');
  const behind = tail === '' ? [] : tail.split(':');
  const zeros = address.includes('::') ? Math.max(0, 8 - ahead.length - behind.length) : 0;
  const groups = [...ahead, ...Array<string>(zeros).fill('0'), ...behind];
  return groups
    .slice(0, 4)
    .map((group) => group.replace(/^0+(?=.)/, ''))
    .join(':');
}

export class LoginAddresses {
  readonly #clock: Clock;
  /** By user, then by place: when somebody logged in there. Both with the longest ago first. */
  readonly #users = new Map<string, Map<string, number>>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Notes that the user has logged in from there. */
  add(username: string, place: string): void {
    const places = this.#users.get(username) ?? new Map<string, number>();
    this.#users.delete(username);
    dropOldest(this.#users, MAX_USERS - 1);
    this.#users.set(username, places);
    places.delete(place);
    dropOldest(places, MAX_PLACES_OF_USER - 1);
    places.set(place, this.#clock.monotonicMs());
  }

  has(username: string, place: string): boolean {
    const atMs = this.#users.get(username)?.get(place);
    return atMs !== undefined && atMs + REMEMBERED_MS > this.#clock.monotonicMs();
  }
}

function dropOldest(map: Map<string, unknown>, size: number): void {
  const [oldest] = map.keys();
  if (map.size > size && oldest !== undefined) map.delete(oldest);
}
