/** The rollout to agents in the console, in a browser. */
import { join } from 'node:path';
import { versionName } from '@workbench-hub/shared/domain/agent-update';
import { buildInfo } from '@workbench-hub/shared/runtime/build-info';
import { afterAll, describe, expect, it, onTestFinished } from 'vitest';
import { offerAgentFile } from '../support/agents/agent-files.js';
import type { FakeAgent } from '../support/agents/fake-agent.js';
import { joinTellingAgent, LOOK_LIMIT_MS } from '../support/agents/telling-agent.js';
import { hasBrowser } from '../support/browsers/browser.js';
import { consoleForAllTests, expectAccessible, hub, visitAs } from '../support/browsers/console.js';
import { USERS } from '../support/hubs/running-hub.js';
import { type TemporaryFolder, temporaryFolder } from '../support/temporary-folder.js';

let folder: TemporaryFolder;
let version: string;

/** An agent on which the version of the hub has failed. */
function failedAgent(): Promise<FakeAgent> {
  const failed = { name: version, reason: 'it ended with exit code 1', log: 'no library\n', agoMs: 10 };
  return joinTellingAgent(hub, { id: 'host-7', instances: [] }, { failed });
}

describe.runIf(hasBrowser)('the rollout in the console', () => {
  consoleForAllTests(async () => {
    folder = await temporaryFolder();
    const files = join(folder.path, 'agents');
    version = versionName(buildInfo.version, offerAgentFile(files, 'the next version').digest);
    const updates = { folder: files, groups: [{ labels: ['test-bench'] }, { labels: [] }] };
    return { users: USERS, config: { agents: { updates } } };
  });
  afterAll(() => folder.remove());

  it('is stopped and resumed by an administrator, and shows what has failed with its log', async () => {
    const page = await visitAs('anna', '/administration/agents');
    const card = page.getByRole('region', { name: 'Rollout to agents' });
    await card.getByText(`Rollout of ${buildInfo.version}`).waitFor();
    await card.getByText('test-bench').waitFor();
    const agent = await failedAgent();
    onTestFinished(() => agent.leave());
    await card.getByText('It has failed on host-7.').waitFor({ timeout: LOOK_LIMIT_MS });
    const row = card.getByRole('row').filter({ hasText: 'host-7' });
    await row.getByText('it ended with exit code 1').waitFor();
    await row.getByText('What the version has printed').click();
    await row.getByText('no library').waitFor();
    const list = page.getByRole('region', { name: 'Agents', exact: true });
    const listed = list.getByRole('row').filter({ hasText: 'host-7' });
    await listed.getByText('Failed', { exact: true }).waitFor();
    await expectAccessible(page);
    await card.getByRole('button', { name: 'Resume' }).click();
    await row.getByText('Failed, passed over').waitFor();
    await listed.getByText('Failed, passed over').waitFor();
    await card.getByText('Done', { exact: true }).waitFor();
    expect(await card.getByRole('button', { name: /Stop|Resume/ }).count()).toBe(0);
  });
});
