import { expect, it } from 'vitest';
import { parseAgentMessage } from '../agent-protocol/parse-message.js';
import type { InstanceState } from '../joining/ports/hub.js';
import { helloMessage, instanceMessage } from './messages.js';

const FULL: Required<InstanceState> = {
  id: 'berlin:press',
  version: '9.1.0',
  revision: 'abc',
  labels: ['forming'],
  runs: { models: ['MILLING'], points: true },
  status: 'UP',
  upForMs: 1500,
  lent: 'OFFERED',
  host: { id: 'gears-1', leftMs: 60_000 },
};
const { runs, lent, host, ...least } = FULL;

/** The instance as the hub gets it. */
const received = (message: object) => parseAgentMessage(JSON.parse(JSON.stringify(message)));

it.each([FULL, least])('all that is known of an instance reaches the hub: %j', (state) => {
  expect(received({ type: 'instance', instance: instanceMessage(state) })).toEqual({
    type: 'instance',
    instance: state,
  });
});

it('so does all of the instances that are introduced', () => {
  const names = { id: 'berlin', nodeId: '0c0e5e0e-0000-4000-8000-000000000001', version: '2', revision: 'a' };
  const introduction = { instances: [FULL], running: [], spooled: [] };
  const hello = helloMessage(names, introduction, { nowMs: 0, joinNumber: 1 });
  expect(received(hello)).toMatchObject({ instances: [FULL] });
});
