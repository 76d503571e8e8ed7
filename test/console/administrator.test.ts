/** The path of an administrator through the console by keyboard alone. */
import { randomUUID } from 'node:crypto';
import { describe, expect, it, onTestFinished } from 'vitest';
import { FakeAgent, instanceReportOf } from '../support/agents/fake-agent.js';
import { hasBrowser } from '../support/browsers/browser.js';
import {
  consoleForAllTests,
  expectAccessible,
  handIn,
  hub,
  rowOf,
  visitAs,
} from '../support/browsers/console.js';
import { goTo, tabTo } from '../support/browsers/keyboard.js';
import { logIn } from '../support/hubs/login.js';
import { USERS } from '../support/hubs/running-hub.js';
import { Api } from '../support/interface/api.js';

describe.runIf(hasBrowser)('an administrator', () => {
  consoleForAllTests({ users: USERS });

  it('sees which hosts are well, why tasks wait, and acts, by keyboard alone', async () => {
    const { accessToken } = await logIn(new Api(hub), 'anna');
    const agent = await FakeAgent.join(hub, {
      id: 'gpu-host',
      nodeId: randomUUID(),
      instances: [instanceReportOf({ id: 'gpu-1', labels: ['gpu'] })],
    });
    onTestFinished(() => agent.leave(accessToken));
    const page = await visitAs('anna', '/');
    const hosts = page.getByRole('region', { name: 'Hosts' });
    await hosts.getByText('gpu-host').waitFor();

    await goTo(page, 'Instances');
    await tabTo(page, page.getByRole('button', { name: 'Drain: gpu-host' }));
    await page.keyboard.press('Enter');
    await page.getByRole('alertdialog').locator(':focus').waitFor();
    await tabTo(page, page.getByRole('alertdialog').getByRole('button', { name: 'Drain' }));
    await page.keyboard.press('Enter');
    await page.getByText('gpu-host is drained').waitFor();
    for (const name of ['first', 'second'])
      await handIn({ name, scripts: ['1'], labels: 'gpu', token: accessToken });

    await goTo(page, 'Overview');
    await hosts.locator('li').filter({ hasText: 'gpu-host' }).getByText('drained', { exact: true }).waitFor();
    await tabTo(page, page.locator('.tile a').first());
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Tasks' }).waitFor();
    await tabTo(page, rowOf(page, 'first').getByRole('link'));
    await page.keyboard.press('Enter');
    await page.getByText('The agent gpu-host was drained by anna').waitFor();

    await goTo(page, 'Tasks');
    await tabTo(page, page.getByRole('searchbox', { name: 'Name' }));
    await page.keyboard.type('first');
    await rowOf(page, 'second').waitFor({ state: 'detached' });
    await tabTo(page, page.getByRole('button', { name: 'Cancel all' }), 'Shift+Tab');
    await page.keyboard.press('Enter');
    await tabTo(page, page.getByRole('button', { name: 'Cancel 1' }));
    await page.keyboard.press('Enter');
    await page.getByText('Done: 1').waitFor();
    await page.keyboard.press('Escape');
    await rowOf(page, 'first').getByText('Canceled', { exact: true }).waitFor();

    await goTo(page, 'Administration');
    await tabTo(page, page.getByRole('link', { name: 'Audit log' }));
    await page.keyboard.press('Enter');
    await tabTo(page, page.getByRole('textbox', { name: 'User' }));
    await page.keyboard.type('anna');
    await rowOf(page, 'drain').first().waitFor();
    await expectAccessible(page);

    await goTo(page, 'Instances');
    await tabTo(page, page.getByRole('button', { name: 'Undrain: gpu-host' }));
    await page.keyboard.press('Enter');
    await page.getByText('gpu-host takes tasks again').waitFor();
    expect(await page.getByRole('button', { name: 'Undrain: gpu-host' }).count()).toBe(0);
  });
});
