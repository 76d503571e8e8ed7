import { expect, it } from 'vitest';
import { DialRefused } from '../agent-protocol/dial.js';
import { dialFailure } from './connection-failures.js';

it.each([
  [401, /^the advice; the log of the hub has the reason$/],
  [503, /^no hub is ready at this address \(503 x\): it starts or stops/],
  [502, /^no hub is ready at this address \(502 x\)/],
  [404, /^the server at this address is not a hub, .*\(404 x\): check the configured address$/],
])('a WebSocket that is refused with %d is described with its remedy', (status, text) => {
  expect(dialFailure(new DialRefused(status, `${status} x`), 'the advice')).toMatch(text);
});
