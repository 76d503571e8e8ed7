import { EventEmitter } from 'node:events';
import { beforeEach, expect, it } from 'vitest';
import type { ToLauncher } from '../core/ports/launcher.js';
import { joinLauncher } from './launcher-channel.js';

const LAUNCH = { version: 'new', isTrial: true, installed: '/opt/workbench-agent' };
const ENVIRONMENT = { WORKBENCH_AGENT_LAUNCH: JSON.stringify(LAUNCH) };

let sent: ToLauncher[];
let exits: number[];
let channel: EventEmitter & { connected: boolean };

beforeEach(() => {
  [sent, exits] = [[], []];
  channel = Object.assign(new EventEmitter(), {
    connected: true,
    send: (message: ToLauncher) => sent.push(message),
    exit: (code: number) => exits.push(code),
  });
});

const join = (environment = ENVIRONMENT) =>
  joinLauncher(environment, channel as unknown as Parameters<typeof joinLauncher>[1]);

it('knows how the agent was launched, and asks', async () => {
  const launcher = join();
  expect(launcher?.launch).toEqual(LAUNCH);
  const trying = launcher?.tryVersion('newer', 'http://hub/livez', true);
  const proving = launcher?.proven();
  const asked = { type: 'try', name: 'newer', livenessUrl: 'http://hub/livez', again: true };
  expect(sent).toEqual([asked, { type: 'proven' }]);
  channel.emit('message', { type: 'answer', fault: 'no room' });
  channel.emit('message', { type: 'answer', fault: null });
  expect([await trying, await proving]).toEqual(['no room', null]);
});

it('stops with the first request, and at once with the second', () => {
  const launcher = join();
  channel.emit('message', { type: 'stop' });
  expect(launcher?.stopSignal.reason).toBe('its launcher stops it');
  expect(exits).toEqual([]);
  channel.emit('message', { type: 'stop' });
  expect(exits).toEqual([1]);
});

it('stops with its launcher', async () => {
  const launcher = join();
  const proving = launcher?.proven();
  channel.emit('disconnect');
  expect(launcher?.stopSignal.reason).toBe('its launcher has gone');
  expect(await proving).toBe('the launcher has gone');
});

it('is not there for an agent that was started otherwise', () => {
  expect(join({ WORKBENCH_AGENT_LAUNCH: '' })).toBeNull();
  expect(joinLauncher({})).toBeNull();
  channel.connected = false;
  expect(join()).toBeNull();
});
