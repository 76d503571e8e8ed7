import { manualRuntime } from '@workbench-hub/shared/runtime/manual-runtime';
import { describe, expect, it } from 'vitest';
import { LoginLocations, locationOf } from './login-locations.js';

it.each([
  ['192.0.2.7', '192.0.2.7'],
  ['', ''],
  ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2'],
  ['2001:DB8:1:2::6', '2001:db8:1:2'],
  ['2001:0db8:0001:0002:0000::', '2001:db8:1:2'],
  ['2001:db8::1', '2001:db8:0:0'],
  ['::1', '0:0:0:0'],
  ['::', '0:0:0:0'],
  ['fe80::1%eth0', 'fe80:0:0:0'],
])('the location of the address %j is %j', (address, location) => {
  expect(locationOf(address)).toBe(location);
});

describe('the locations of logins', () => {
  it('are forgotten after twelve hours without a login', async () => {
    const { clock, advance } = manualRuntime();
    const locations = new LoginLocations(clock);
    locations.add('anna', 'here');
    await advance(11 * 3_600_000);
    locations.add('anna', 'here');
    await advance(12 * 3_600_000 - 1);
    expect([
      locations.has('anna', 'here'),
      locations.has('anna', 'there'),
      locations.has('bert', 'here'),
    ]).toEqual([true, false, false]);
    await advance(1);
    expect(locations.has('anna', 'here')).toBe(false);
  });

  it('are at most twenty for each user: the one with the oldest login is forgotten', () => {
    const locations = new LoginLocations(manualRuntime().clock);
    locations.add('bert', 'location 0');
    for (let at = 0; at < 20; at++) locations.add('anna', `location ${at}`);
    locations.add('anna', 'location 0');
    locations.add('anna', 'location 20');
    expect(locations.has('anna', 'location 0')).toBe(true);
    expect(locations.has('anna', 'location 1')).toBe(false);
    expect(locations.has('anna', 'location 2')).toBe(true);
    expect(locations.has('bert', 'location 0')).toBe(true);
  });

  it('are kept for ten thousand users: the user with the oldest login is forgotten', () => {
    const locations = new LoginLocations(manualRuntime().clock);
    for (const username of ['first', 'second', 'first']) locations.add(username, 'here');
    for (let at = 0; at < 9_999; at++) locations.add(`user ${at}`, 'here');
    expect([locations.has('first', 'here'), locations.has('second', 'here')]).toEqual([true, false]);
  });
});
