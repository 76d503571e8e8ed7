import { manualRuntime } from '@workbench-hub/shared/runtime/manual-runtime';
import { describe, expect, it } from 'vitest';
import { LoginAddresses, placeOf } from './login-addresses.js';

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
])('the place of the address %j is %j', (address, place) => {
  expect(placeOf(address)).toBe(place);
});

describe('the places of log-ins', () => {
  it('are forgotten after twelve hours without a log-in', async () => {
    const { clock, advance } = manualRuntime();
    const places = new LoginAddresses(clock);
    places.add('anna', 'here');
    await advance(11 * 3_600_000);
    places.add('anna', 'here');
    await advance(12 * 3_600_000 - 1);
    expect([places.has('anna', 'here'), places.has('anna', 'there'), places.has('bert', 'here')]).toEqual([
      true,
      false,
      false,
    ]);
    await advance(1);
    expect(places.has('anna', 'here')).toBe(false);
  });

  it('are twenty of a user: where that logged in longest ago is forgotten', () => {
    const places = new LoginAddresses(manualRuntime().clock);
    places.add('bert', 'place 0');
    for (let at = 0; at < 20; at++) places.add('anna', `place ${at}`);
    places.add('anna', 'place 0');
    places.add('anna', 'place 20');
    expect(places.has('anna', 'place 0')).toBe(true);
    expect(places.has('anna', 'place 1')).toBe(false);
    expect(places.has('anna', 'place 2')).toBe(true);
    expect(places.has('bert', 'place 0')).toBe(true);
  });

  it('are those of ten thousand users: who logged in longest ago is forgotten', () => {
    const places = new LoginAddresses(manualRuntime().clock);
    for (const username of ['first', 'second', 'first']) places.add(username, 'here');
    for (let at = 0; at < 9_999; at++) places.add(`user ${at}`, 'here');
    expect([places.has('first', 'here'), places.has('second', 'here')]).toEqual([true, false]);
  });
});
