import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { describe, expect, it } from 'vitest';
import { Client, trustedProxies } from './client.js';

interface Setup {
  readonly peer?: string | undefined;
  readonly headers?: IncomingHttpHeaders;
  readonly trusted?: readonly string[];
  readonly encrypted?: boolean;
}

function client({ peer = '10.0.0.1', headers = {}, trusted = ['10.0.0.0/24'], encrypted = false }: Setup) {
  const request = { headers, socket: { remoteAddress: peer, encrypted } } as unknown as IncomingMessage;
  return new Client(request, trustedProxies(trusted));
}

const forwardedFor = (chain: string) => ({ 'x-forwarded-for': chain });

describe('the address of a client', () => {
  it.each<[string, string, Setup]>([
    ['the peer, when it is nobody’s proxy', '192.0.2.7', { peer: '192.0.2.7' }],
    [
      'the peer, whatever address it claims to forward for',
      '192.0.2.7',
      { peer: '192.0.2.7', headers: forwardedFor('10.0.0.1') },
    ],
    ['the peer, when no proxy is trusted', '10.0.0.1', { headers: forwardedFor('192.0.2.7'), trusted: [] }],
    ['the proxy itself, when it forwards for nobody', '10.0.0.1', {}],
    ['whom a proxy forwards for', '192.0.2.7', { headers: forwardedFor('192.0.2.7') }],
    [
      'whom the last of several proxies forwards for',
      '192.0.2.7',
      { headers: forwardedFor('192.0.2.7, 10.0.0.3 ,10.0.0.2') },
    ],
    [
      'not what the client has put before',
      '192.0.2.7',
      { headers: forwardedFor('10.9.9.9, 127.0.0.1, 192.0.2.7') },
    ],
    [
      'not the address behind a stranger',
      '203.0.113.9',
      { headers: forwardedFor('192.0.2.7, 203.0.113.9, 10.0.0.2') },
    ],
    [
      'the first of all when every one is trusted',
      '10.0.0.9',
      { headers: forwardedFor('10.0.0.9, 10.0.0.8') },
    ],
    ['the nearest that is an address', '10.0.0.1', { headers: forwardedFor('unknown') }],
    [
      'the nearest that is an address',
      '10.0.0.2',
      { headers: forwardedFor('192.0.2.7, <script>, 10.0.0.2') },
    ],
    ['the proxy for an empty header', '10.0.0.1', { headers: forwardedFor('') }],
    ['the proxy for a header of commas', '10.0.0.1', { headers: forwardedFor(' , ,, ') }],
    ['without a port', '192.0.2.7', { headers: forwardedFor('192.0.2.7:51234') }],
    ['IPv6', '2001:db8::7', { headers: forwardedFor('2001:db8::7'), peer: '::1', trusted: ['loopback'] }],
    ['IPv6 with brackets and port', '2001:db8::7', { headers: forwardedFor('[2001:db8::7]:443') }],
    [
      'IPv6 through a network of proxies',
      '2001:db8::7',
      { headers: forwardedFor('2001:db8::7'), peer: 'fd00::5', trusted: ['fd00::/8'] },
    ],
    ['IPv4 that came over IPv6', '192.0.2.7', { peer: '::ffff:192.0.2.7' }],
    [
      'IPv4 proxies that came over IPv6',
      '192.0.2.7',
      { peer: '::ffff:10.0.0.1', headers: forwardedFor('::ffff:192.0.2.7') },
    ],
    ['never the value of Forwarded', '10.0.0.1', { headers: { forwarded: 'for=192.0.2.7;proto=https' } }],
    ['never the value of X-Real-IP', '10.0.0.1', { headers: { 'x-real-ip': '192.0.2.7' } }],
  ])('is %s: %s', (_, expected, setup) => {
    expect(client(setup).address).toBe(expected);
  });

  it('is empty when the connection has ended', () => {
    const request = { headers: {}, socket: {} } as unknown as IncomingMessage;
    expect(new Client(request, trustedProxies([])).address).toBe('');
  });
});

describe('isSecure', () => {
  it.each<[string, boolean, Setup]>([
    ['is TLS when that of the hub is', true, { encrypted: true, trusted: [] }],
    ['is not TLS without a header', false, {}],
    ['is TLS when a trusted proxy says so', true, { headers: { 'x-forwarded-proto': 'https' } }],
    ['is TLS in any spelling', true, { headers: { 'x-forwarded-proto': 'HTTPS' } }],
    ['is that of the first of several proxies', true, { headers: { 'x-forwarded-proto': 'https, http' } }],
    ['is that of the first of several proxies', false, { headers: { 'x-forwarded-proto': 'http,https' } }],
    [
      'is not TLS because a stranger says so',
      false,
      { peer: '192.0.2.7', headers: { 'x-forwarded-proto': 'https' } },
    ],
    ['is not TLS because of Forwarded', false, { headers: { forwarded: 'proto=https' } }],
    ['is not TLS by any other value', false, { headers: { 'x-forwarded-proto': 'wss' } }],
  ])('%s: %s', (_, expected, setup) => {
    expect(client(setup).isSecure).toBe(expected);
  });
});
