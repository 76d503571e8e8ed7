import { createHash } from 'node:crypto';
import type { AgentUpdate } from '@workbench-hub/shared/domain/agent-update';
import { manualRuntime } from '@workbench-hub/shared/runtime/manual-runtime';
import { beforeEach, describe, expect, it } from 'vitest';
import type { AgentReply, AgentRequest } from '../../core/ports/agents.js';
import { AgentUnavailable } from '../../core/ports/relay.js';
import { AgentUpdates, type UpdateOffer } from './agent-updates.js';

const FILE = { system: 'linux-x64', digest: '0123456789abcdef'.repeat(4), sizeBytes: 5 };
const NAME = '0.2.0-0123456789abcdef';
const OFFER: UpdateOffer = {
  files: { version: '0.2.0', files: [FILE], find: () => undefined },
  signer: { sign: async (text) => ({ protected: 'p', payload: text, signature: 's' }) },
  protocol: 1,
};
const IDLE: AgentUpdate = {
  unable: null,
  system: 'linux-x64',
  phase: 'IDLE',
  running: null,
  target: null,
  problem: null,
  failed: null,
};

/** Requests that the agent got. */
let asked: AgentRequest[];
/** The agent's answers, by kind of request. */
let answers: Partial<Record<AgentRequest['kind'], AgentReply | AgentUnavailable>>;

beforeEach(() => {
  asked = [];
  answers = { updateState: told(IDLE), update: told({ ...IDLE, phase: 'DOWNLOADING', target: NAME }) };
});

describe('an order', () => {
  it('names agent, version, file and protocol, and is answered with the state of the agent', async () => {
    expect(await updates().order('host-1')).toMatchObject({ phase: 'DOWNLOADING', target: NAME });
    const [, sent] = asked;
    if (sent?.kind !== 'update') throw new Error('no order was sent');
    expect(sent.again).toBe(false);
    expect(JSON.parse(sent.order.payload)).toEqual({
      agentId: 'host-1',
      version: '0.2.0',
      ...FILE,
      protocol: 1,
    });
  });

  it.each([
    [
      'the hub updates none',
      IDLE,
      null,
      /this hub updates no agents: set agents\.updates\.folder of the hub/,
    ],
    [
      'the agent cannot be',
      { ...IDLE, unable: 'it is a container' },
      OFFER,
      /is not updated: it is a container/,
    ],
    ['of its system', { ...IDLE, system: 'win-x64' }, OFFER, /no file for its system, win-x64/],
    [
      'of an earlier failure',
      { ...IDLE, failed: { name: NAME, reason: 'it ended', log: '', agoMs: 1 } },
      OFFER,
      /version 0\.2\.0-0123456789abcdef has failed there: it ended/,
    ],
  ])('is refused because %s', async (_, state, offer, message) => {
    answers.updateState = told(state);
    const refused = updates(offer).order('host-1');
    await expect(refused).rejects.toMatchObject({
      code: 'AGENT_NOT_UPDATABLE',
      message: expect.stringMatching(message),
    });
    expect(asked.map(({ kind }) => kind)).not.toContain('update');
  });

  it('is given in spite of an earlier failure when that is asked for', async () => {
    answers.updateState = told({ ...IDLE, failed: { name: NAME, reason: 'it ended', log: '', agoMs: 1 } });
    await updates().order('host-1', { again: true });
    expect(asked[1]).toMatchObject({ kind: 'update', again: true });
  });

  it('fails for an agent that cannot be asked', async () => {
    answers.updateState = new AgentUnavailable('it is not connected');
    await expect(updates().order('host-1')).rejects.toMatchObject({ code: 'AGENT_UNAVAILABLE' });
    answers.updateState = { error: null, text: null };
    await expect(updates().state('host-1')).rejects.toMatchObject({ code: 'AGENT_UNAVAILABLE' });
  });
});

describe('a version on trial', () => {
  it('is told that it has proven itself when its job printed the digest of the nonce', async () => {
    answers.proven = told(IDLE);
    await updates().prove('host-1');
    expect(asked.map(({ kind }) => kind)).toEqual(['probe', 'proven']);
  });

  it.each([
    ['printed another text', { error: null, text: 'something else\n' }],
    ['printed nothing', { error: null, text: null }],
    ['could not be run', new AgentUnavailable('the probe job failed')],
  ])('is told nothing when its job %s', async (_, answer) => {
    answers.probe = answer;
    await updates().prove('host-1');
    expect(asked.map(({ kind }) => kind)).toEqual(['probe']);
  });
});

function updates(offer: UpdateOffer | null = OFFER): AgentUpdates {
  const ask = async (_: string, request: AgentRequest) => {
    asked.push(request);
    const digest = request.kind === 'probe' ? createHash('sha256').update(request.nonce).digest('hex') : '';
    const answer = answers[request.kind] ?? { error: null, text: `${digest}\n` };
    if (answer instanceof AgentUnavailable) throw answer;
    return answer;
  };
  return new AgentUpdates({
    offer,
    sessions: { request: ask },
    relay: { ask: (agentId, request) => ask(agentId, request as AgentRequest) },
    runtime: manualRuntime(),
    log: { info: () => undefined, error: () => undefined },
  });
}

function told(update: AgentUpdate): AgentReply {
  return { error: null, text: null, update };
}
