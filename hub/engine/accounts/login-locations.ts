/** Locations from which users have logged in recently. Their attempts have priority and are counted separately. */
import type { Clock } from '@workbench-hub/shared/runtime/runtime';
import { LOCATION_REMEMBERED_MS, MAX_LOCATIONS_OF_USER } from '../../core/ports/login-records.js';

/** Maximum remembered users; the one whose login is oldest is forgotten. */
const MAX_USERS = 10_000;

/** The location of an address: an IPv4 address, or the 64-bit network of an IPv6 address, since one host may use all
 *  its addresses. An unknown address is a location, too. */
export function locationOf(address: string): string {
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

export class LoginLocations {
  readonly #clock: Clock;
  /** Login times by user and location, the oldest first. */
  readonly #users = new Map<string, Map<string, number>>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  add(username: string, location: string): void {
    const locations = this.#users.get(username) ?? new Map<string, number>();
    this.#users.delete(username);
    dropOldest(this.#users, MAX_USERS - 1);
    this.#users.set(username, locations);
    locations.delete(location);
    dropOldest(locations, MAX_LOCATIONS_OF_USER - 1);
    locations.set(location, this.#clock.monotonicMs());
  }

  has(username: string, location: string): boolean {
    const atMs = this.#users.get(username)?.get(location);
    return atMs !== undefined && atMs + LOCATION_REMEMBERED_MS > this.#clock.monotonicMs();
  }
}

function dropOldest(map: Map<string, unknown>, size: number): void {
  const [oldest] = map.keys();
  if (map.size > size && oldest !== undefined) map.delete(oldest);
}
