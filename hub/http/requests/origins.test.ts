import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { describe, expect, it } from 'vitest';
import { isCookiePath, refuseForeignOrigin } from './origins.js';

const CONSOLE = 'https://console.example.org';

const ask = (headers: IncomingHttpHeaders, publicUrl: string | null = null) =>
  refuseForeignOrigin({ headers } as IncomingMessage, { publicUrl, allowed: new Set([CONSOLE]) });

describe('an endpoint with a cookie', () => {
  it.each<[string, IncomingHttpHeaders, (string | null)?]>([
    ['a program', { host: 'hub:8080' }],
    ['an address typed by a person', { host: 'hub:8080', 'sec-fetch-site': 'none' }],
    ['its own page', { host: 'hub:8080', origin: 'http://hub:8080', 'sec-fetch-site': 'same-origin' }],
    [
      'its own page behind a proxy that ends TLS',
      { host: 'hub.example.org', origin: 'https://hub.example.org' },
    ],
    ['its own page on the default port', { host: 'hub.example.org:443', origin: 'https://hub.example.org' }],
    [
      'its own page by its public address',
      { host: '10.0.0.5:8080', origin: 'https://hub.example.org' },
      'https://hub.example.org/',
    ],
    ['a page of a configured origin', { host: 'hub', origin: CONSOLE, 'sec-fetch-site': 'same-site' }],
  ])('serves %s', (_, headers, publicUrl) => {
    expect(() => ask(headers, publicUrl)).not.toThrow();
  });

  it.each<[string, IncomingHttpHeaders, (string | null)?]>([
    [
      'a picture on a foreign page',
      { host: 'hub', 'sec-fetch-site': 'cross-site', 'sec-fetch-dest': 'image' },
    ],
    [
      'a link from a foreign page',
      { host: 'hub', 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'navigate' },
    ],
    ['a page of a neighbor', { host: 'hub.example.org', 'sec-fetch-site': 'same-site' }],
    ['a foreign page of an old browser', { host: 'hub', origin: 'https://evil.example' }],
    ['a page without an origin', { host: 'hub', origin: 'null' }],
    ['a page on another port', { host: 'hub:8080', origin: 'http://hub:8081' }],
    ['a page whose name ends alike', { host: 'hub.example.org', origin: 'https://evil-hub.example.org' }],
    ['a page whose name begins alike', { host: 'hub', origin: 'https://hub.evil.example' }],
    [
      'another scheme of the public address',
      { host: '10.0.0.5', origin: 'http://hub.example.org' },
      'https://hub.example.org',
    ],
    ['a configured origin by another scheme', { host: 'hub', origin: 'http://console.example.org' }],
    ['several origins', { host: 'hub', origin: `${CONSOLE}, https://evil.example` }],
  ])('refuses %s', (_, headers, publicUrl) => {
    expect(() => ask(headers, publicUrl)).toThrow(expect.objectContaining({ code: 'FOREIGN_ORIGIN' }));
  });

  it('is login, refresh or logout, also by the sign-on', () => {
    for (const path of [
      '/api/2.0/auth/login',
      '/api/2.0/auth/refresh',
      '/api/2.0/auth/logout',
      '/api/1.0/auth/login',
      '/api/x/sign-on/refresh',
    ]) {
      expect(isCookiePath(path)).toBe(true);
    }
    for (const path of ['/api/2.0/user', '/api/2.0/workbench/task/auth/', '/api/x/sign-on', '/livez'])
      expect(isCookiePath(path)).toBe(false);
  });
});
