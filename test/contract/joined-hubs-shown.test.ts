/** Joined hubs, lent instances and upstreams, as both sides see them (contract 12.44). */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { FakeAgent } from '../support/agents/fake-agent.js';
import { eventually } from '../support/eventually.js';
import { api, hub, hubForEachTest } from '../support/hubs/hub-for-tests.js';
import { startHub, USERS } from '../support/hubs/running-hub.js';
import { type Item, instanceAt, listed, type Site, startSite } from '../support/hubs/sites.js';
import { Api } from '../support/interface/api.js';
import { codeBlock } from '../support/pages/code-blocks.js';
import { runCommand } from '../support/programs/run-command.js';
import { temporaryFolder } from '../support/temporary-folder.js';

/** Headquarters. */
hubForEachTest({ config: { server: { publicUrl: 'https://hq.example.com' } } });

let site: Site;
let press: FakeAgent;
beforeEach(async () => {
  site = await startSite(hub, 'berlin', { lend: { labels: ['forming'], takeBack: '1s' } });
  press = await FakeAgent.join(site.hub, {
    id: 'host-1',
    instances: [
      { id: 'press', version: '9.1.0', labels: ['forming'] },
      { id: 'mill', version: '8.0.0', labels: ['milling'] },
    ],
  });
  await instanceAt(api, 'berlin:press', { status: 'UP', lent: 'OFFERED' });
});

const upstreamOf = async (of: Site) => (await listed(of.api, '/api/x/upstreams'))[0];

describe('a joined hub at headquarters', () => {
  it('is an agent with its address and the ways to the hubs below it', async () => {
    const hall = await startSite(site.hub, 'hall', { config: { server: { publicUrl: null } } });
    expect(hall.hub.address).not.toBe(site.hub.address);
    await eventually(async () =>
      expect((await api.get('/api/x/agents/berlin')).body).toMatchObject({
        status: 'UP',
        hub: { baseUrl: 'https://berlin.example.com', below: [['hall']] },
      }),
    );
    expect((await api.get('/api/x/agents/berlin')).body).not.toHaveProperty('lastSeenAt');
    expect((await site.api.get('/api/x/agents/host-1')).body).not.toHaveProperty('hub');
  });

  it('that has left is DOWN since a time, without instances that could be used', async () => {
    await site.hub.stop();
    await instanceAt(api, 'berlin:press', { status: 'UNKNOWN' });
    const { body } = await api.get('/api/x/agents/berlin');
    expect(body).toMatchObject({ status: 'DOWN', lastSeenAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT/) });
    expect(body).not.toHaveProperty('hub');
  });

  it('keeps an instance that it does not offer, which explains why a task waits', async () => {
    await site.api.post('/api/x/agents/host-1/drain', {});
    await instanceAt(api, 'berlin:press', { status: 'UP', lent: 'KEPT', working: false });
    const id = await api.simulateWork();
    const { body } = await api.get(`/api/x/tasks/${id}/explain`);
    expect(body).toMatchObject({ verdict: 'NONE_UP', instances: { satisfyingAll: 1, kept: 1, idle: 0 } });
    expect(body['message']).toContain('1 kept for tasks of other hubs');
    expect((await api.task(id))['message']).toContain('1 kept for tasks of other hubs');
  });
});

describe('an upstream at the site', () => {
  it('is listed with the connection, the lent instances and the loans', async () => {
    await eventually(async () =>
      expect(await upstreamOf(site)).toMatchObject({
        name: 'hq',
        agentId: 'berlin',
        prefix: 'berlin:',
        status: 'UP',
        address: hub.address.replace('http', 'ws'),
        joinedAt: expect.any(String),
        instances: { OFFERED: 1, IN_USE: 0, KEPT: 0 },
        loans: 0,
      }),
    );
    const id = await api.simulateWork();
    const { ref } = await press.hear('assign');
    expect(await upstreamOf(site)).toMatchObject({ loans: 1 });
    press.report(ref, 'OK');
    await eventually(async () => (await api.task(id))['status'] === 'FINISHED');
    await eventually(async () => expect(await upstreamOf(site)).toMatchObject({ loans: 0 }));
    expect(await listed(api, '/api/x/upstreams')).toEqual([]);
  });

  it('that is away is DOWN, with the reason', async () => {
    await hub.stop();
    const away = { status: 'DOWN', message: expect.stringContaining('ECONNREFUSED') };
    await eventually(async () => expect(await upstreamOf(site)).toMatchObject(away));
    expect(await upstreamOf(site)).not.toHaveProperty('address');
  });

  it('is in the metrics of the hub that joins it', async () => {
    const { text } = await site.api.get('/actuator/prometheus');
    const joined = /workbench_hub_upstream_joined\{upstream="hq"\} 1/;
    // With several hubs, another one may have joined it.
    if (process.env['HUBS'] === undefined) {
      expect(text).toMatch(joined);
      expect(text).toMatch(/workbench_hub_instances_lent\{upstream="hq"\} 1/);
      expect(text).toMatch(/workbench_hub_loans\{upstream="hq"\} 0/);
    } else expect(text).toContain('# TYPE workbench_hub_upstream_joined gauge');
  });
});

describe('a task of the site', () => {
  it('that waits for longer than the site allows takes its instance back, and the loan runs again', async () => {
    const far = await api.simulateWork();
    const loan = await press.hear('assign');
    const own = await site.api.simulateWork({
      classifiers: [{ type: 'LABLES', value: 'forming' }],
    });
    expect((await press.hear('cancel')).ref).toEqual(loan.ref);
    press.report(loan.ref, 'CANCELED');
    const assigned = await press.hear('assign');
    expect(assigned.ref.taskId).toBe(own);
    await eventually(async () => (await api.task(far))['status'] === 'WAITING');
    press.report(assigned.ref, 'OK');
    const again = await press.hear('assign');
    press.report(again.ref, 'OK');
    await eventually(async () => (await api.task(far))['status'] === 'FINISHED');
  });
});

describe('an instance that is lent for good', () => {
  it('takes tasks of the upstream only, and explains that to those of its own hub', async () => {
    const { hub: only, api: ofSite } = await startSite(hub, 'lyon', {
      lend: { labels: ['cutting'], when: 'always' },
    });
    const agent = await FakeAgent.join(only, {
      id: 'host-9',
      instances: [{ id: 'saw', labels: ['cutting'] }],
    });
    await instanceAt(api, 'lyon:saw', { status: 'UP', lent: 'OFFERED' });
    const classifiers = [{ type: 'LABLES', value: 'cutting' }];
    const own = await ofSite.simulateWork({ classifiers });
    expect((await ofSite.task(own))['message']).toContain(
      '1 instance fits, but none takes tasks: 0 down, 0 unreachable, 1 kept for tasks of other hubs',
    );
    await instanceAt(ofSite, 'saw', { lent: 'KEPT', working: false });
    const far = await api.simulateWork({ classifiers });
    const { ref } = await agent.hear('assign');
    expect((await ofSite.get(`/api/x/tasks/${ref.taskId}`)).body).toMatchObject({ loan: { taskId: far } });
    agent.report(ref, 'OK');
    await eventually(async () => (await api.task(far))['status'] === 'FINISHED');
    expect(await ofSite.task(own)).toMatchObject({ status: 'WAITING' });
  });
});

describe('workbench-hub upstream enroll', () => {
  it('fetches the credential of an upstream for a code, and names the upstreams for any other name', async () => {
    const folder = await temporaryFolder();
    onTestFinished(folder.remove);
    const file = join(folder.path, 'hub.yaml');
    const url = hub.address.replace('http', 'ws');
    const upstreams = [{ name: 'headquarters', url, id: 'paris' }];
    writeFileSync(file, JSON.stringify({ dataDir: join(folder.path, 'hub'), upstreams }));
    const { body } = await api.post('/api/x/agents', { id: 'paris' });
    const [, ...words] = codeBlock('packages/docs/joined-hubs.md', 'upstream enroll').trim().split(' ');
    const enroll = (args: readonly string[], input = '') =>
      runCommand('hub/bin/workbench-hub.js', args, { cwd: folder.path, input });
    const enrolled = await enroll(words, `${String(body['code'])}\n`);
    expect(enrolled).toMatchObject({ code: 0, stderr: '' });
    expect(enrolled.stdout).toContain(
      'This hub is enrolled at headquarters as paris; its credential is kept in ',
    );
    expect(await enroll(words.map((word) => (word === 'headquarters' ? 'x' : word)))).toMatchObject({
      code: 2,
      stderr: 'there is no upstream "x"; the configuration has headquarters\n',
    });
  });
});

describe('the audit log of a site', () => {
  it('names the hub and the user that gave a task, and a command to a lent instance', async () => {
    const home = await startHub({
      users: USERS,
      config: { server: { publicUrl: 'https://home.example.com' } },
    });
    onTestFinished(home.stop);
    const audited = await startSite(home, 'rome', { users: USERS });
    const [atHome, atSite] = await Promise.all(
      [new Api(home), audited.api].map((each) => each.asUser('anna')),
    );
    const agent = await FakeAgent.join(audited.hub, { id: 'host-2', instances: [{ id: 'oven' }] });
    if (!atHome || !atSite) throw new Error('both are logged in');
    await instanceAt(atHome, 'rome:oven');
    await atHome.simulateWork();
    const { ref } = await agent.hear('assign');
    agent.report(ref, 'OK');
    const stopping = atHome.call('PATCH', '/api/2.0/workbench/node/instance/rome:oven/stop');
    const { requestId, request } = await agent.hear('request');
    expect(request).not.toHaveProperty('asker');
    agent.say({ type: 'reply', requestId, error: null, text: null });
    expect((await stopping).status).toBe(202);
    const detail = 'asked by anna at https://home.example.com';
    for (const [action, resource] of [
      ['LOAN', ref.taskId],
      ['LENT_INSTANCE_COMMAND', 'stop oven'],
    ] as const) {
      const entry = await eventually(async () => {
        const { body } = await atSite.get(`/api/x/audit?action=${action}`);
        return (body['entries'] as Item[])[0];
      });
      expect(entry).toMatchObject({
        action,
        resource,
        user: 'hq',
        by: 'UPSTREAM',
        outcome: 'ALLOWED',
        detail,
      });
    }
  });
});
