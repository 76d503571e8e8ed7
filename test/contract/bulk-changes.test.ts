/** POST /api/x/tasks/cancel and /delete (contract 12.13). */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { FakeAgent } from '../support/agents/fake-agent.js';
import { type RunningHub, startHub, USERS } from '../support/hubs/running-hub.js';
import { Api, expectError } from '../support/interface/api.js';

const CANCEL = '/api/x/tasks/cancel';
const DELETE = '/api/x/tasks/delete';
const NOWHERE = { classifiers: [{ type: 'VERSION', value: 'none' }] };

let hub: RunningHub;
let anna: Api;
let ulla: Api;
let udo: Api;
beforeEach(async () => {
  hub = await startHub({ users: USERS });
  const api = new Api(hub);
  [anna, ulla, udo] = await Promise.all([api.asUser('anna'), api.asUser('ulla'), api.asUser('udo')]);
});
afterEach(() => hub.stop());

async function perform(by: Api, path: string, filter: object, rest: object = {}) {
  const { status, body, text } = await by.post(path, { filter, dryRun: false, ...rest });
  expect(status, text).toBe(200);
  const { tasks, ...counts } = body as { tasks: { name: string }[] };
  return { ...counts, names: tasks.map(({ name }) => name) };
}
const counts = async () => (await anna.get('/api/x/tasks')).body['counts'];
const NONE = { WAITING: 0, RUNNING: 0, FINISHED: 0, FAILED: 0, CANCELED: 0 };

describe('a change of all tasks that match', () => {
  it('says in a dry run what it would do, and then does it', async () => {
    for (const name of ['run 1', 'run 2', 'other']) await ulla.simulateWork({ name, ...NOWHERE });
    const outcome = { matched: 2, more: false, names: ['run 2', 'run 1'] };
    const filter = { name: 'RUN*', status: ['WAITING'] };
    expect(await perform(ulla, CANCEL, filter, { dryRun: true })).toEqual({
      ...outcome,
      dryRun: true,
      changed: 0,
    });
    expect(await counts()).toEqual({ ...NONE, WAITING: 3 });
    expect(await perform(ulla, CANCEL, filter)).toEqual({ ...outcome, dryRun: false, changed: 2 });
    expect(await counts()).toEqual({ ...NONE, WAITING: 1, CANCELED: 2 });
    expect(await perform(ulla, CANCEL, filter)).toMatchObject({ matched: 0, changed: 0 });
    expect(await perform(ulla, DELETE, {}, { dryRun: true })).toMatchObject({ matched: 2, changed: 0 });
    expect(await perform(ulla, DELETE, { name: 'run 1' })).toMatchObject({ matched: 1, changed: 1 });
    expect(await counts()).toEqual({ ...NONE, WAITING: 1, CANCELED: 1 });
  });

  it('matches no task that it cannot change, whatever status is asked for', async () => {
    await ulla.simulateWork({ name: 'run 1', ...NOWHERE });
    const nothing = { dryRun: false, matched: 0, changed: 0, more: false, names: [] };
    expect(await perform(ulla, DELETE, { status: ['WAITING', 'RUNNING'] })).toEqual(nothing);
    expect(await perform(ulla, CANCEL, { status: ['FINISHED'] })).toEqual(nothing);
    expect(await counts()).toEqual({ ...NONE, WAITING: 1 });
  });

  it('refuses a condition that it does not know, without which more tasks would match', async () => {
    await ulla.simulateWork({ name: 'run 1', ...NOWHERE });
    const refused = await ulla.post(DELETE, { filter: { name: 'run*', project: 'gears' }, dryRun: false });
    const known = 'id, name, creator, note, type, priority, status, instance, study, from, to';
    expectError(refused, 400, DELETE, `filter: has the unknown condition project; known are ${known}`);
  });

  it('is for tasks of the caller, for an ADMIN also for those of others', async () => {
    await ulla.simulateWork({ name: 'of ulla', ...NOWHERE });
    await udo.simulateWork({ name: 'of udo', ...NOWHERE });
    expect(await perform(udo, CANCEL, { creator: 'ulla' })).toMatchObject({ matched: 0, names: [] });
    expect(await perform(udo, CANCEL, {}, { dryRun: true })).toMatchObject({ matched: 1, names: ['of udo'] });
    expect(await perform(anna, CANCEL, { creator: 'u*' })).toMatchObject({ matched: 2, changed: 2 });
    expect(await perform(udo, DELETE, {})).toMatchObject({ matched: 1, changed: 1, names: ['of udo'] });
    expect(
      (await (await new Api(hub).asUser('vera')).post(CANCEL, { filter: {}, dryRun: true })).status,
    ).toBe(403);
  });

  it('ends running tasks only by force', async () => {
    const agent = await FakeAgent.join(hub);
    await ulla.simulateWork({ name: 'running' });
    const { ref } = await agent.hear('assign');
    expect(await perform(ulla, CANCEL, { instance: ['sim-1'] })).toMatchObject({ matched: 0 });
    expect(await perform(ulla, DELETE, { status: ['RUNNING'] })).toMatchObject({ matched: 0 });
    const forced = await perform(
      ulla,
      CANCEL,
      { instance: ['sim-1'], type: 'simulate_work' },
      { force: true },
    );
    expect(forced).toMatchObject({ matched: 1, changed: 1 });
    expect((await agent.hear('cancel')).ref).toEqual(ref);
    await agent.leave(anna.token);
  });

  it('reaches more tasks than one part', async () => {
    for (let at = 0; at < 603; at += 3) {
      await Promise.all([0, 1, 2].map((more) => ulla.simulateWork({ name: `n${at + more}`, ...NOWHERE })));
    }
    const outcome = await perform(ulla, CANCEL, { from: '2026-01-01T00:00:00Z' });
    expect(outcome).toMatchObject({ matched: 603, changed: 603, more: false });
    expect(outcome.names).toHaveLength(100);
    expect(await perform(ulla, DELETE, { to: '2026-01-01T00:00:00Z' })).toMatchObject({ matched: 0 });
    expect(await perform(ulla, DELETE, {})).toMatchObject({ matched: 603, changed: 603 });
    expect(await counts()).toEqual(NONE);
  });

  it.each([
    [{}, 'filter: is required; dryRun: is required'],
    [{ filter: {} }, 'dryRun: is required'],
    [{ dryRun: true }, 'filter: is required'],
    [{ filter: { status: ['DONE'] }, dryRun: true }, /^filter\.status\[0\]: must be one of/],
    [{ filter: { from: 'today' }, dryRun: true }, /^filter\.from: must be a timestamp/],
    [
      { filter: { status: [], instance: [] }, dryRun: false },
      /^filter\.status: must have at least one element; leave the field out to match any; filter\.instance: must have/,
    ],
    [{ filter: { name: `*${'x'.repeat(300)}` }, dryRun: true }, /^filter\.name: with wildcards/],
  ])('is refused with %j', async (json, message) => {
    expectError(await ulla.post(CANCEL, json), 400, CANCEL, message);
  });
});
