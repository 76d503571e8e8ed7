/** An independent validating proxy with the hub's own document finds no violation on a walk through every endpoint, in requests
 *  or responses. */
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest';
import { offerAgentFile } from '../support/agents/agent-files.js';
import { FakeAgent } from '../support/agents/fake-agent.js';
import { type RunningHub, startHub, USERS } from '../support/hubs/running-hub.js';
import { Api } from '../support/interface/api.js';
import { countAnswer, operationsOf } from '../support/interface/exercised.js';
import { ANSWERS, type Call, callAt, walkThroughInterface } from '../support/interface/interface-walk.js';
import { type PrismProxy, startPrism } from '../support/interface/prism-proxy.js';
import { type TemporaryFolder, temporaryFolder } from '../support/temporary-folder.js';

/** Recipe of hosts that no task asks for. */
const HOSTS = {
  name: 'belts',
  manager: { kind: 'command' as const, submit: ['false'], list: ['false'], cancel: ['false'] },
  folder: '/nonexistent',
  agent: { hub: 'ws://127.0.0.1:9', instances: [{ id: 'belt', version: '7' }] },
};

let folder: TemporaryFolder;
let hub: RunningHub;
let prism: PrismProxy;
let agent: FakeAgent;
beforeAll(async () => {
  folder = await temporaryFolder();
  const files = join(folder.path, 'agents');
  offerAgentFile(files, 'the next version');
  const config = {
    hosts: [HOSTS],
    agents: { updates: { folder: files, groups: [{ labels: ['nowhere'] }] } },
  };
  hub = await startHub({ users: USERS, config });
  prism = await startPrism(hub.address, folder.path);
  agent = await FakeAgent.join(hub, { answers: ANSWERS });
});
afterAll(async () => {
  await agent.leave();
  await prism.stop();
  await hub.stop();
  await folder.remove();
});

async function throughProxy(
  proxy: PrismProxy,
  method: string,
  path: string,
  json?: unknown,
  headers: Record<string, string> = {},
) {
  const answer = await callAt(proxy.address, method, path, json, headers);
  // The proxy names here violations that do not stop the response, such as an undeclared status.
  return { ...answer, violations: answer.headers.get('sl-violations') };
}

/** Operations that succeed with a provider of the sign-on only: browser-sign-on.test.ts checks their responses against the document. */
const WITH_PROVIDER = ['begin', 'finish', 'refresh', 'end'].map((step) => `POST /api/x/sign-on/${step}`);

it('the validating proxy finds no violation on a walk through every endpoint', async () => {
  const document = await new Api(hub).document();
  const called = new Set<string>();
  const call: Call = async (method, path, json, requestHeaders) => {
    const answer = await throughProxy(prism, method, path, json, requestHeaders);
    const { status, headers, text, violations } = answer;
    expect(violations, `${method} ${path} ${status} ${text}`).toBeNull();
    // Responses of the proxy itself have another form.
    expect(text).not.toContain('stoplight.io/prism');
    const counted = countAnswer(document, { method, path: path.split('?')[0] ?? '', status });
    if (counted !== undefined && status < 400) called.add(counted);
    return { status, headers, text };
  };
  await walkThroughInterface(call, agent, { updates: true });
  const walked = operationsOf(document).filter((operation) => !WITH_PROVIDER.includes(operation));
  expect([...called].sort()).toEqual(walked.sort());
});

it('the validating proxy finds a violation in a request', async () => {
  const create = '/api/2.0/workbench/task/simulate-work/create';
  const { token } = await new Api(hub).asUser('anna');
  const authorization = `Bearer ${token}`;
  const text = expect.stringContaining('stoplight.io/prism');
  const asked = throughProxy(prism, 'POST', create, { duration: -1 }, { authorization });
  expect(await asked).toMatchObject({ status: 422, text });
  expect(await throughProxy(prism, 'POST', create, { duration: 1 })).toMatchObject({ status: 401, text });
  expect(await throughProxy(prism, 'GET', '/docs')).toMatchObject({ status: 404, text });
});

it('the validating proxy finds a violation in a response', async () => {
  const another = await startPrism(hub.address, folder.path, (document) =>
    document
      .replaceAll('"runningInstances":{"type":"integer"', '"runningInstances":{"type":"string"')
      .replaceAll('"404"', '"410"'),
  );
  onTestFinished(another.stop);
  expect(await throughProxy(another, 'GET', '/livez')).toMatchObject({ status: 200, violations: null });
  const wrongType = await throughProxy(another, 'GET', '/actuator/health');
  expect(wrongType).toMatchObject({ status: 500, violations: expect.stringContaining('runningInstances') });
  const { token } = await new Api(hub).asUser('anna');
  const nobody = '/api/2.0/workbench/task/nobody';
  const undeclared = await throughProxy(another, 'GET', nobody, undefined, {
    authorization: `Bearer ${token}`,
  });
  expect(undeclared).toMatchObject({ status: 404, violations: expect.stringContaining('status code') });
});
