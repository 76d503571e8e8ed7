import { describe, expect, it } from 'vitest';
import { permittedAddresses } from './permitted-addresses.js';

const PUBLIC = [
  '1.1.1.1',
  '93.184.216.34',
  '172.32.0.1',
  '192.167.255.255',
  '2606:4700:4700::1111',
  '2a00::1',
];
const OTHERS = [
  ...['0.0.0.0', '10.0.0.1', '100.64.0.1', '127.0.0.1', '127.255.255.254', '169.254.169.254', '172.16.0.1'],
  ...['172.31.255.255', '192.0.0.8', '192.0.2.1', '192.168.1.1', '198.18.0.1', '198.51.100.1', '203.0.113.1'],
  ...['224.0.0.1', '240.0.0.1', '255.255.255.255', '192.88.99.1'],
  ...[
    '::',
    '::1',
    '::127.0.0.1',
    '::ffff:127.0.0.1',
    '::ffff:8.8.8.8',
    '::ffff:7f00:1',
    '64:ff9b::7f00:1',
    '100::1',
  ],
  ...[
    '2001::1',
    '2001:db8::1',
    '2002:7f00:1::',
    '3fff::1',
    'fc00::1',
    'fd12:3456::1',
    'fe80::1',
    'fec0::1',
    'ff02::1',
  ],
];
const NONE = ['', 'localhost', '127.1', '2130706433', '0x7f.1', '1.1.1.1:80', '1.1.1.256'];

describe('addresses that webhooks may reach', () => {
  it('are the public ones', () => {
    const isPermitted = permittedAddresses([]);
    expect(PUBLIC.filter((address) => !isPermitted(address))).toEqual([]);
    expect([...OTHERS, ...NONE].filter(isPermitted)).toEqual([]);
  });

  it('are also those of the networks that the configuration names', () => {
    const isPermitted = permittedAddresses(['10.1.0.0/16', 'fd12::/16', 'loopback']);
    const named = ['10.1.2.3', 'fd12::7', '127.0.0.1', '::1', '::ffff:10.1.2.3'];
    expect(named.filter((address) => !isPermitted(address))).toEqual([]);
    expect(['10.2.0.1', '192.168.1.1', 'fd13::1', '::ffff:10.2.0.1', ...NONE].filter(isPermitted)).toEqual(
      [],
    );
  });
});
