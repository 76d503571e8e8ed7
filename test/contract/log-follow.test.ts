/** GET /api/x/tasks/{id}/log?follow=true (contract 12.11). */
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { FakeAgent } from '../support/agents/fake-agent.js';
import { type RunningHub, startHub } from '../support/hubs/running-hub.js';
import { Api, expectError } from '../support/interface/api.js';
import { EventReader, type ReadEvent } from '../support/interface/event-reader.js';

const pathOf = (id: string, query = '') => `/api/x/tasks/${id}/log?follow=true${query}`;

let hub: RunningHub;
let api: Api;
let agent: FakeAgent;
beforeEach(async () => {
  hub = await startHub();
  api = new Api(hub);
  agent = await FakeAgent.join(hub);
});
afterEach(async () => {
  await agent.leave();
  await hub.stop();
});

async function follow(id: string, lastEventId?: string): Promise<EventReader> {
  const options = lastEventId === undefined ? {} : { lastEventId };
  const reader = await EventReader.open(hub, pathOf(id), options);
  onTestFinished(() => reader.close());
  return reader;
}

/** Collects output until it has this text. */
async function readUntil(reader: EventReader, text: string): Promise<ReadEvent[]> {
  const events: ReadEvent[] = [];
  while (textOf(events) !== text) {
    const event = await reader.next();
    if (!event) throw new Error(`the stream ended with ${JSON.stringify(events)}`);
    events.push(event);
  }
  return events;
}
const textOf = (events: readonly ReadEvent[]) =>
  events
    .filter(({ type }) => type === 'output')
    .map(({ data }) => data['text'])
    .join('');
const print = (ref: { taskId: string; attempt: number; instanceId: string }, offset: number, text: string) =>
  agent.say({ type: 'output', ref, offset, text });

describe('the log of a task that is followed', () => {
  it('waits for its start, comes as it is printed, and ends with the task', async () => {
    await agent.leave();
    const id = await api.batchJob();
    const reader = await follow(id);
    agent = await FakeAgent.join(hub);
    const { ref } = await agent.hear('assign');
    expect(await reader.next()).toEqual({ type: 'attempt', id: '1.0', data: { attempt: 1 } });
    print(ref, 0, 'one\n');
    const [first] = await readUntil(reader, 'one\n');
    expect(first).toEqual({ type: 'output', id: '1.4', data: { attempt: 1, offset: 0, text: 'one\n' } });
    print(ref, 4, 'zwölf 🔧\n');
    await readUntil(reader, 'zwölf 🔧\n');
    // The rest was not sent live.
    const whole = 'one\nzwölf 🔧\nthe end\n';
    await agent.end(ref, 'OK', { log: await agent.upload(whole) });
    const rest = await reader.rest();
    expect(textOf(rest)).toBe('the end\n');
    expect(rest.at(-1)).toMatchObject({ type: 'end', data: { status: 'FINISHED' } });
  });

  it('continues where a client was, also after the end', async () => {
    const id = await api.batchJob();
    const { ref } = await agent.hear('assign');
    print(ref, 0, 'abcdef');
    const reader = await follow(id);
    await readUntil(reader, 'abcdef');
    reader.close();
    expect(textOf(await readUntil(await follow(id, '1.4'), 'ef'))).toBe('ef');
    await agent.end(ref, 'OK', { log: await agent.upload('abcdefghi') });
    expect(textOf(await (await follow(id, reader.lastId)).rest())).toBe('ghi');
    expect(textOf(await (await follow(id)).rest())).toBe('abcdefghi');
    const after = await (await follow(id, '1.9')).rest();
    expect(after).toEqual([{ type: 'end', id: '1.9', data: { status: 'FINISHED' } }]);
  });

  it('begins anew with each attempt, and for an invalid place', async () => {
    const id = await api.batchJob();
    const { ref } = await agent.hear('assign');
    print(ref, 0, 'first');
    const reader = await follow(id, 'nonsense');
    await readUntil(reader, 'first');
    await agent.end(ref, 'INSTANCE_LOST');
    const { ref: second } = await agent.hear('assign');
    print(second, 0, 'second');
    expect(await readUntil(reader, 'second')).toMatchObject([
      { type: 'attempt', id: '2.0', data: { attempt: 2 } },
      { type: 'output', data: { attempt: 2, offset: 0 } },
    ]);
  });

  it('says what was skipped', async () => {
    const id = await api.batchJob();
    const { ref } = await agent.hear('assign');
    print(ref, 0, 'known');
    const reader = await follow(id);
    await readUntil(reader, 'known');
    print(ref, 1000, 'later');
    expect(await reader.next()).toEqual({
      type: 'skipped',
      id: '1.1000',
      data: { attempt: 1, offset: 5, to: 1000 },
    });
    await readUntil(reader, 'later');
  });

  it('comes in pieces when it is long, with each character whole', async () => {
    const id = await api.batchJob();
    const { ref } = await agent.hear('assign');
    const long = `x${'🔧'.repeat(200_000)}`;
    await agent.end(ref, 'OK', { log: await agent.upload(long) });
    const events = await (await follow(id)).rest();
    expect(events.length).toBeGreaterThan(20);
    expect(textOf(events)).toBe(long);
    const halves = events.filter(({ data }) => /^[\udc00-\udfff]/.test(String(data['text'] ?? '')));
    expect(halves).toEqual([]);
  });

  it('stays readable when the task is canceled, before its agent reports', async () => {
    const id = await api.batchJob();
    const { ref } = await agent.hear('assign');
    print(ref, 0, 'before the cancellation\n');
    const reader = await follow(id);
    await readUntil(reader, 'before the cancellation\n');
    await api.delete(`/api/2.0/workbench/task/${id}/cancel?force=true`);
    const last = await reader.rest();
    expect(last).toMatchObject([{ type: 'end', data: { status: 'CANCELED' } }]);
    const log = () => api.get(`/api/2.0/workbench/task/${id}/log`);
    expect(await log()).toMatchObject({ status: 200, text: 'before the cancellation\n' });
    const again = await (await follow(id)).rest();
    expect(textOf(again)).toBe('before the cancellation\n');
    await agent.end(ref, 'OK', { log: await agent.upload('before the cancellation\nand after it\n') });
    expect((await log()).text).toBe('before the cancellation\nand after it\n');
  });

  it('ends for a task that is canceled, and for one without a log', async () => {
    const id = await api.batchJob({ classifiers: [{ type: 'VERSION', value: 'none' }] });
    const reader = await follow(id);
    await api.delete(`/api/2.0/workbench/task/${id}/cancel`);
    expect(await reader.rest()).toEqual([{ type: 'end', id: '0.0', data: { status: 'CANCELED' } }]);
  });

  it('ends when the hub stops', async () => {
    const reader = await follow(await api.batchJob());
    const stopped = hub.stop();
    await reader.rest().catch(() => []);
    await stopped;
  });

  it('is refused for no task, and with another value of follow', async () => {
    const path = '/api/x/tasks/nobody/log';
    expectError(await api.get(pathOf('nobody')), 404, path, 'there is no task with the id "nobody"');
    expectError(await api.get(`${path}?follow=false`), 400, path, /^follow: must be true here/);
  });
});
