import { IncomingMessage } from 'node:http';
import { Socket } from 'node:net';
import { manualRuntime } from '@workbench-hub/shared/runtime/manual-runtime';
import { expect, it } from 'vitest';
import type { Span } from '../../../core/ports/tracing.js';
import { ALWAYS_ADMITTED } from '../../requests/admission.js';
import { openGuard } from '../../requests/guard.js';
import { DeferredCall, type DeferredRoute } from './deferred-call.js';

it('keeps nothing of what its client has sent but the path and the authorization', () => {
  const incoming = new IncomingMessage(new Socket());
  incoming.url = `/api/x/events?name=${'n'.repeat(5000)}`;
  incoming.headers = { authorization: 'Bearer token', 'x-junk': 'j'.repeat(15_000), cookie: 'c'.repeat(100) };
  incoming.rawHeaders = Object.entries(incoming.headers).flat().map(String);
  const route = {
    method: 'GET',
    access: 'VIEWER',
    guard: openGuard,
    audit: null,
    trustedProxies: () => false,
    runtime: manualRuntime(),
  } as unknown as DeferredRoute;
  const call = new DeferredCall(route, incoming, {
    span: {} as Span,
    permit: ALWAYS_ADMITTED,
    admittedAtMs: 0,
  });
  expect(incoming.url).toBe('/api/x/events');
  expect(incoming.headers).toEqual({ host: 'hub', authorization: 'Bearer token' });
  expect(incoming.rawHeaders).toEqual([]);
  expect(call.reauthorize()).toMatchObject({ username: 'anonymous' });
});
