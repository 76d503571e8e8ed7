import type { Transport } from '@workbench-hub/shared/agent-protocol/link';
import type { Logger } from '@workbench-hub/shared/runtime/logger';
import { manualRuntime } from '@workbench-hub/shared/runtime/manual-runtime';
import { expect, it } from 'vitest';
import type { AgentConnection } from '../core/ports/agents.js';
import { serveConnection, type TransportHandlers } from './connection.js';

const REF = { taskId: '019c0000-0000-7000-8000-000000000001', attempt: 1, instanceId: 'sim-1' };
const HELLO = {
  type: 'hello',
  protocolVersions: [1],
  agent: { id: 'agent-1', nodeId: '0c0e5e0e-0000-4000-8000-000000000001', version: '1', revision: '1' },
  instances: [],
  running: [],
  spooled: [],
};
const PIECE = JSON.stringify([{ type: 'output', ref: REF, offset: 0, text: 'x'.repeat(256 * 1024) }]);

const SILENT = { warn: () => undefined, error: () => undefined } as Partial<Logger> as Logger;

/** A connection to a hub whose store responds to the join when the test says so. */
function connection() {
  const runtime = manualRuntime();
  const happened: string[] = [];
  let handlers!: TransportHandlers;
  let printed = 0;
  let joins!: (joined: boolean) => void;
  const transport: Transport = {
    send: () => undefined,
    close: (_, reason) => void happened.push(`closed: ${reason}`),
    terminate: () => void happened.push('terminated'),
    bufferedBytes: () => 0,
    pause: () => void happened.push('paused'),
    resume: () => void happened.push('resumed'),
  };
  const nothing = async () => undefined;
  serveConnection(
    (given) => {
      handlers = given;
      return transport;
    },
    { identity: { by: 'TOKEN' }, remoteAddress: null },
    {
      authenticator: { record: () => undefined },
      agents: {
        join: (_, agent: AgentConnection) => {
          agent.welcome({ outputStorage: false });
          return new Promise((resolve) => {
            joins = resolve;
          });
        },
        leave: () => undefined,
        instanceChanged: () => undefined,
        printed: () => void printed++,
        replied: () => undefined,
        reported: nothing,
      },
      credentials: { faultOf: nothing, joined: nothing, endOf: nothing },
      runtime,
      log: SILENT,
      ...{ hubVersion: '1', heartbeatIntervalMs: 5000, silenceLimitMs: 30_000, inlineBlobBytes: 1 },
    },
  );
  return {
    ...{ runtime, happened },
    say: (frame: string) => handlers.onFrame(frame),
    join: () => joins(true),
    printed: () => printed,
  };
}

it('what an agent sends while the store does not respond is read up to a limit, and the rest later', async () => {
  const { runtime, happened, say, join, printed } = connection();
  say(JSON.stringify([HELLO]));
  await runtime.advance(0);
  for (let piece = 0; piece < 127; piece++) say(PIECE);
  await runtime.advance(1000);
  expect(happened).toEqual([]);
  for (let piece = 0; piece < 2; piece++) say(PIECE);
  expect(happened).toEqual(['paused']);
  // It is heard no more, and is not taken for silent.
  await runtime.advance(120_000);
  expect([happened, printed()]).toEqual([['paused'], 0]);
  join();
  await runtime.advance(1000);
  expect([happened, printed()]).toEqual([['paused', 'resumed'], 129]);
  await runtime.advance(32_000);
  expect(happened).toContain('terminated');
});
