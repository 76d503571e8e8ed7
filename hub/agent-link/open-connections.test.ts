import { type ManualRuntime, manualRuntime } from '@workbench-hub/shared/runtime/manual-runtime';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { OpenConnections } from './open-connections.js';

const OTHERS = ['ws://hub-2:8080'];
const log = { error: () => undefined, warn: (names: object) => void warnings.push(names) } as never;

let runtime: ManualRuntime;
let isReady: boolean;
let others: readonly string[];
let moves: string[];
/** Whether the agent can be asked to join another hub. */
let canMove: boolean;
let warnings: object[];
let stop: () => void;

beforeEach(() => {
  runtime = manualRuntime();
  isReady = true;
  others = OTHERS;
  moves = [];
  canMove = true;
  warnings = [];
  const connections = new OpenConnections({
    // A store that is away keeps the check of credentials waiting.
    credentials: { version: () => new Promise(() => undefined) },
    isReady: () => isReady,
    otherHubs: () => others,
    runtime,
    log,
  });
  connections.add({
    endIfRevoked: async () => undefined,
    tellHubs: () => undefined,
    move: (reason) => {
      if (canMove) moves.push(reason);
      return canMove;
    },
  });
  stop = connections.watch();
});
afterEach(() => stop());

const pass = (seconds: number) => runtime.advance(seconds * 1000);

describe('agents of a hub that is not ready', () => {
  it('are asked to join others after eight to ten seconds, and again', async () => {
    await pass(20);
    isReady = false;
    await pass(7);
    expect(moves).toEqual([]);
    await pass(3);
    expect(moves).toEqual(['the hub is not ready']);
    await pass(8);
    expect(moves).toHaveLength(2);
    expect(warnings).toEqual([{ agents: 1 }, { agents: 1 }]);
  });

  it('of which none can be asked are not in the log', async () => {
    canMove = false;
    isReady = false;
    await pass(10);
    expect([moves, warnings]).toEqual([[], []]);
  });

  it('stay when it is ready again before', async () => {
    isReady = false;
    await pass(7);
    isReady = true;
    await pass(3);
    isReady = false;
    await pass(7);
    expect(moves).toEqual([]);
  });

  it('stay when there is no other', async () => {
    others = [];
    isReady = false;
    await pass(30);
    expect(moves).toEqual([]);
  });
});
