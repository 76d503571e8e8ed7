import { describe, expect, it } from 'vitest';
import { type ManualRuntime, manualRuntime } from '../runtime/manual-runtime.js';
import { CLOSE, Link } from './link.js';
import { type AgentMessage, type HubMessage, MAX_FRAME_BYTES } from './messages.js';
import { parseHubMessage } from './parse-message.js';

const HEARTBEAT = '[{"type":"heartbeat"}]';
const CANCEL: HubMessage = {
  type: 'cancel',
  ref: { taskId: '019c0000-0000-7000-8000-000000000001', attempt: 1, instanceId: 'sim' },
};

function link(runtime: ManualRuntime) {
  const frames: string[] = [];
  const received: HubMessage[] = [];
  const ends: string[] = [];
  const closed: [number, string][] = [];
  let terminated = false;
  const made = new Link<HubMessage, AgentMessage>({
    transport: {
      send: (frame) => void frames.push(frame),
      close: (code, reason) => void closed.push([code, reason]),
      terminate: () => {
        terminated = true;
      },
      bufferedBytes: () => 0,
    },
    runtime,
    read: parseHubMessage,
    onMessage: (message) => void received.push(message),
    onDown: (reason) => void ends.push(reason),
  });
  return { link: made, frames, received, ends, closed, isTerminated: () => terminated };
}

describe('sending', () => {
  it('combines the messages of one turn in one frame, in order', async () => {
    const runtime = manualRuntime();
    const { link: sender, frames } = link(runtime);
    sender.send({ type: 'reply', requestId: '1', error: null, text: 'a' });
    sender.send({ type: 'reply', requestId: '2', error: null, text: 'b' });
    expect(frames).toEqual([]);
    await runtime.advance(0);
    expect(frames).toHaveLength(1);
    expect(
      (JSON.parse(frames[0] ?? '') as { requestId: string }[]).map(({ requestId }) => requestId),
    ).toEqual(['1', '2']);
  });

  it('distributes many messages over frames within the size limit', async () => {
    const runtime = manualRuntime();
    const { link: sender, frames } = link(runtime);
    const text = 'x'.repeat(MAX_FRAME_BYTES / 10);
    for (let i = 0; i < 20; i++) sender.send({ type: 'reply', requestId: `${i}`, error: null, text });
    await runtime.advance(0);
    expect(frames.length).toBeGreaterThan(1);
    for (const frame of frames) expect(frame.length).toBeLessThan(MAX_FRAME_BYTES);
    expect(frames.flatMap((frame) => JSON.parse(frame) as unknown[])).toHaveLength(20);
  });

  it('delays a non-urgent message until the next one, but not for long', async () => {
    const runtime = manualRuntime();
    const { link: sender, frames } = link(runtime);
    const types = () =>
      frames.map((frame) => (JSON.parse(frame) as { requestId: string }[]).map((m) => m.requestId));
    const reply = (requestId: string): AgentMessage => ({
      type: 'reply',
      requestId,
      error: null,
      text: null,
    });
    sender.sendLazily(reply('1'));
    sender.sendLazily(reply('2'));
    await runtime.advance(5);
    expect(frames).toEqual([]);
    sender.send(reply('3'));
    await runtime.advance(0);
    expect(types()).toEqual([['1', '2', '3']]);
    sender.sendLazily(reply('4'));
    await runtime.advance(20);
    expect(types()).toEqual([['1', '2', '3'], ['4']]);
    expect(runtime.pendingTimers).toBe(0);
    sender.sendLazily(reply('5'));
    sender.down('gone');
    expect(runtime.pendingTimers).toBe(0);
  });

  it('sends what is queued before it closes, and nothing afterwards', async () => {
    const runtime = manualRuntime();
    const { link: sender, frames, closed, ends } = link(runtime);
    sender.send({ type: 'reply', requestId: '1', error: null, text: null });
    sender.close(CLOSE.GOING_AWAY, 'stopping');
    sender.send({ type: 'reply', requestId: '2', error: null, text: null });
    await runtime.advance(0);
    expect(frames).toHaveLength(1);
    expect(closed).toEqual([[1001, 'stopping']]);
    expect(ends).toEqual(['stopping']);
  });

  it('truncates a reason to the size of a close frame', () => {
    const { link: sender, closed } = link(manualRuntime());
    sender.close(CLOSE.NORMAL, 'ü'.repeat(200));
    expect(Buffer.byteLength(closed[0]?.[1] ?? '')).toBeLessThanOrEqual(123);
  });
});

describe('receiving', () => {
  it('delivers nothing of a frame after the message at which its owner ended the link', () => {
    const received: HubMessage[] = [];
    const receiver: Link<HubMessage, AgentMessage> = new Link<HubMessage, AgentMessage>({
      transport: {
        send: () => undefined,
        close: () => undefined,
        terminate: () => undefined,
        bufferedBytes: () => 0,
      },
      runtime: manualRuntime(),
      read: parseHubMessage,
      onMessage: (message) => {
        received.push(message);
        receiver.close(CLOSE.GOING_AWAY, 'stopping');
      },
      onDown: () => undefined,
    });
    receiver.receive(JSON.stringify([CANCEL, CANCEL]));
    expect(received).toEqual([CANCEL]);
  });

  it('delivers each message of a frame, but no heartbeat', () => {
    const { link: receiver, received } = link(manualRuntime());
    receiver.receive(JSON.stringify([CANCEL, { type: 'heartbeat' }, CANCEL]));
    expect(received).toEqual([CANCEL, CANCEL]);
  });

  it.each([
    ['not JSON', 'a frame that is not JSON'],
    ['{"type":"heartbeat"}', 'a frame that is not a list'],
    ['[null]', 'a message of type undefined'],
    ['[{"type":"nonsense"}]', 'a message of type "nonsense"'],
    ['[{"type":"cancel","ref":{"taskId":"x","attempt":0,"instanceId":""}}]', 'ref.taskId'],
  ])('ends at %s', (frame, fault) => {
    const { link: receiver, closed, ends, received } = link(manualRuntime());
    receiver.receive(frame);
    receiver.receive(JSON.stringify([CANCEL]));
    expect(closed[0]?.[0]).toBe(CLOSE.PROTOCOL_ERROR);
    expect(ends).toHaveLength(1);
    expect(ends[0]).toContain(fault);
    expect(received).toEqual([]);
  });

  it('ignores unknown fields', () => {
    const { link: receiver, received } = link(manualRuntime());
    receiver.receive(JSON.stringify([{ ...CANCEL, fromTheFuture: true }]));
    expect(received).toEqual([CANCEL]);
  });
});

describe('watching', () => {
  it('sends a heartbeat only when nothing else was sent for the interval', async () => {
    const runtime = manualRuntime();
    const { link: watched, frames } = link(runtime);
    watched.watch(5000, 30_000);
    await runtime.advance(4000);
    watched.send({ type: 'reply', requestId: '1', error: null, text: null });
    await runtime.advance(4900);
    expect(frames.filter((frame) => frame === HEARTBEAT)).toHaveLength(0);
    await runtime.advance(200);
    expect(frames.filter((frame) => frame === HEARTBEAT)).toHaveLength(1);
    await runtime.advance(10_000);
    expect(frames.filter((frame) => frame === HEARTBEAT)).toHaveLength(3);
  });

  it('terminates the link after silence and a second check', async () => {
    const runtime = manualRuntime();
    const { link: watched, ends, isTerminated } = link(runtime);
    watched.watch(5000, 30_000);
    await runtime.advance(20_000);
    watched.receive(HEARTBEAT);
    await runtime.advance(30_500);
    expect(ends).toEqual([]);
    await runtime.advance(600);
    expect(ends).toEqual(['nothing heard for 31 s']);
    expect(isTerminated()).toBe(true);
    expect(runtime.pendingTimers).toBe(0);
  });

  it('continues when something is received before the second check', async () => {
    const runtime = manualRuntime();
    const { link: watched, ends } = link(runtime);
    watched.watch(5000, 30_000);
    await runtime.advance(30_500);
    watched.receive(HEARTBEAT);
    await runtime.advance(30_000);
    expect(ends).toEqual([]);
  });
});
