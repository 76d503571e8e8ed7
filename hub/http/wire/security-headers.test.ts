import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { expect, it } from 'vitest';
import { identifyRequest } from './request-id.js';
import { securityHeaderLines } from './security-headers.js';

const socketWith = (encrypted: boolean) => ({ encrypted }) as unknown as Duplex;

it('a response over TLS keeps browsers on TLS, also when it is written to the bare socket', () => {
  const hsts = 'strict-transport-security: max-age=31536000';
  expect(securityHeaderLines(socketWith(true), undefined)).toContain(hsts);
  expect(securityHeaderLines(socketWith(false), undefined)).not.toContain(hsts);
});

it('a response to a request that was read has its id', () => {
  const request = { url: '/a', headers: { 'x-request-id': 'build-7' } } as unknown as IncomingMessage;
  identifyRequest(request, () => 'new');
  expect(securityHeaderLines(socketWith(false), request)).toContain('x-request-id: build-7');
});
