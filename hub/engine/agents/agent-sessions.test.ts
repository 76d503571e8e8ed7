import type { Logger } from '@workbench-hub/shared/runtime/logger';
import { manualRuntime } from '@workbench-hub/shared/runtime/manual-runtime';
import { expect, it } from 'vitest';
import type { AgentConnection } from '../../core/ports/agents.js';
import { AgentSessions } from './agent-sessions.js';

type Moves = [reason: string, to: readonly string[]][];

/** A connection of an agent that was asked for these moves. */
function connectionWith(moves: Moves, canMove = true): AgentConnection {
  return {
    move: (reason, to = []) => {
      moves.push([reason, to]);
      return canMove;
    },
    close: () => undefined,
  } as Partial<AgentConnection> as AgentConnection;
}

function newSessions(): AgentSessions {
  const traces = { contextOf: () => null };
  return new AgentSessions({
    runtime: manualRuntime(),
    log: { debug: () => undefined } as unknown as Logger,
    traces,
    proofs: { of: () => 'proof' },
    ownName: 'https://hub.example.com',
  });
}

it('an agent is asked to move on its latest connection', () => {
  const sessions = newSessions();
  const former: Moves = [];
  const latest: Moves = [];
  sessions.open('host-1', { epoch: 1, held: [] }, connectionWith(former));
  sessions.open('host-1', { epoch: 2, held: [] }, connectionWith(latest));
  expect(sessions.move('host-1', 'the hub is crowded', ['ws://hub-2:8080'])).toBe(true);
  expect(former).toEqual([]);
  expect(latest).toEqual([['the hub is crowded', ['ws://hub-2:8080']]]);
});

it('an agent that is not connected, or too old, is not asked to move', () => {
  const sessions = newSessions();
  expect(sessions.move('host-1', 'the hub is crowded')).toBe(false);
  sessions.open('host-1', { epoch: 1, held: [] }, connectionWith([], false));
  expect(sessions.move('host-1', 'the hub is crowded')).toBe(false);
  sessions.end('host-1');
  expect(sessions.move('host-1', 'the hub is crowded')).toBe(false);
});
