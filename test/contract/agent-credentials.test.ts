/** Agents that identify themselves by a credential, and its revocation (shared/agent-protocol/README.md). */
import { readdir } from 'node:fs/promises';
import { AGENT_PATHS } from '@workbench-hub/shared/agent-protocol/messages';
import { describe, expect, it, onTestFinished } from 'vitest';
import { askToEnroll, besideHub, enrolled, offerCode } from '../support/agents/agent-enrollment.js';
import {
  agentsAtOneHub,
  dataDir,
  dialStatus,
  hub,
  joined,
  refusals,
} from '../support/agents/agents-at-one-hub.js';
import { FakeAgent } from '../support/agents/fake-agent.js';
import { startHub } from '../support/hubs/running-hub.js';
import { Api } from '../support/interface/api.js';
import { temporaryFolder } from '../support/temporary-folder.js';

agentsAtOneHub();

async function fileStatus(token: string, path = 'a'.repeat(64)): Promise<number> {
  const response = await fetch(`${hub.address}${AGENT_PATHS.FILES}/${path}`, {
    headers: { authorization: `Bearer ${token}` },
  });
  await response.text();
  return response.status;
}

describe('an agent id', () => {
  it('other than that of the credential is refused, with the reason in both logs', async () => {
    const credential = await enrolled(hub, 'mine');
    const agent = await FakeAgent.connect({ ...hub, token: credential }, { id: 'yours', instances: [] });
    const message = 'the credential of agent mine is not valid for the id yours';
    expect(await agent.hear('refused')).toEqual({ type: 'refused', code: 'AGENT_ID_NOT_PROVEN', message });
    expect(await agent.closed()).toBe('refused');
    expect(refusals().at(-1)).toBe(message);
  });

  it('with its own credential cannot be used with the join token', async () => {
    await enrolled(hub, 'own');
    const agent = await FakeAgent.connect(hub, { id: 'own', instances: [] });
    expect(await agent.hear('refused')).toMatchObject({
      code: 'AGENT_ID_NOT_PROVEN',
      message: expect.stringMatching(/^agent own has been enrolled, .* remove token and tokenFile/),
    });
  });

  it('that gets a credential ends its connection by the join token', async () => {
    const agent = await joined('moving', hub.token);
    await enrolled(hub, 'moving');
    expect(await agent.closed()).toMatch(/^agent moving has been enrolled/);
  });
});

describe('a revoked credential', () => {
  it('ends the connection of its agent at once and is refused everywhere', async () => {
    const credential = await enrolled(hub, 'lost');
    const agent = await joined('lost', credential);
    expect(await fileStatus(credential)).toBe(404);
    await besideHub(dataDir, (credentials) => credentials.revoke('lost'));
    expect(await fileStatus(credential)).toBe(401);
    expect(await agent.closed()).toBe('the credential of agent lost is revoked');
    expect(await dialStatus(credential)).toBe(401);
    expect(refusals().at(-1)).toBe('the credential of agent lost is revoked');
    expect(
      hub.log.some(
        ({ msg, agentId }) => msg === 'the connection of an agent was ended' && agentId === 'lost',
      ),
    ).toBe(true);
  });

  it('does not free its id for the join token', async () => {
    await enrolled(hub, 'banned');
    await besideHub(dataDir, (credentials) => credentials.revoke('banned'));
    const agent = await FakeAgent.connect(hub, { id: 'banned', instances: [] });
    expect(await agent.hear('refused')).toMatchObject({ code: 'AGENT_ID_NOT_PROVEN' });
  });

  it('that was not fetched yet admits the agent neither by code nor by join token', async () => {
    const code = await offerCode(dataDir, 'unwanted');
    await besideHub(dataDir, (credentials) => credentials.revoke('unwanted'));
    const body = JSON.stringify({ agentId: 'unwanted', code });
    expect((await askToEnroll(hub.address, body)).status).toBe(401);
    const agent = await FakeAgent.connect(hub, { id: 'unwanted', instances: [] });
    expect(await agent.hear('refused')).toMatchObject({ code: 'AGENT_ID_NOT_PROVEN' });
  });

  it('cannot be revoked again, and can be replaced by a new one', async () => {
    await enrolled(hub, 'back');
    expect(await besideHub(dataDir, (credentials) => credentials.revoke('back'))).toBe(true);
    expect(await besideHub(dataDir, (credentials) => credentials.revoke('back'))).toBe(false);
    await joined('back', await enrolled(hub, 'back'));
  });
});

it('access tokens of users are refused beneath /agent/, and agent credentials everywhere else', async () => {
  const secured = await startHub({ users: { anna: ['ADMIN'] } });
  onTestFinished(() => secured.stop());
  const anna = await new Api(secured).asUser('anna');
  const token = anna.token ?? '';
  await expect(FakeAgent.connect({ ...secured, token })).rejects.toMatchObject({ status: 401 });
  const digest = 'a'.repeat(64);
  const statusOf = async (path: string, bearer: string) => {
    const headers = { authorization: `Bearer ${bearer}` };
    const response = await fetch(secured.address + path, { headers });
    await response.text();
    return response.status;
  };
  expect(await statusOf(`${AGENT_PATHS.FILES}/${digest}`, token)).toBe(401);
  const credential = await enrolled(secured, 'host-1');
  expect(await statusOf(`${AGENT_PATHS.FILES}/${digest}`, credential)).toBe(404);
  for (const bearer of [credential, secured.token]) {
    expect(await statusOf('/api/2.0/workbench/task/list', bearer)).toBe(401);
  }
  expect(JSON.stringify(secured.log)).not.toContain(token);
});

it('a credential outlives a restart of the hub, and agents.enrolledOnly disables the join token', async () => {
  const folder = await temporaryFolder();
  onTestFinished(folder.remove);
  const first = await startHub({ dataDir: folder.path });
  const credential = await enrolled(first, 'lasting');
  await first.stop();

  const second = await startHub({
    dataDir: folder.path,
    config: { agents: { enrolledOnly: true, token: null } },
  });
  onTestFinished(() => second.stop());
  const agent = await FakeAgent.join({ ...second, token: credential }, { id: 'lasting', instances: [] });
  await expect(FakeAgent.connect({ ...second, token: first.token })).rejects.toMatchObject({ status: 401 });
  const [refusal] = second.log.filter(({ msg }) => msg === 'an agent was refused');
  expect(refusal?.['reason']).toBe(
    'what it presents is not the credential of an agent, and no token is accepted (agents.enrolledOnly)',
  );
  expect(await readdir(folder.path)).not.toContain('agent-token');
  await agent.leave();
});
