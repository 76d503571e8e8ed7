/** The administration and the access tokens in a browser. */
import { appendFile, mkdir } from 'node:fs/promises';
import { dirname } from 'node:path';
import { logFileOf } from '@workbench-hub/hub/config';
import { describe, expect, it, onTestFinished } from 'vitest';
import { FakeAgent } from '../support/agents/fake-agent.js';
import { hasBrowser } from '../support/browsers/browser.js';
import {
  consoleForAllTests,
  expectAccessible,
  handIn,
  hub,
  rowOf,
  visit,
  visitAs,
} from '../support/browsers/console.js';
import { logIn, statusFor } from '../support/hubs/login.js';
import { passwordOf, USERS } from '../support/hubs/running-hub.js';
import { Api } from '../support/interface/api.js';
import { keepSecret } from '../support/secrets.js';

describe.runIf(hasBrowser)('the administration', () => {
  consoleForAllTests({ users: USERS });

  it('enrolls an agent with a code that is shown once, and revokes its credential', async () => {
    const { accessToken } = await logIn(new Api(hub), 'anna');
    const agent = await FakeAgent.join(hub, { id: 'mill-host', instances: [] });
    onTestFinished(() => agent.leave(accessToken));
    const page = await visitAs('anna', '/administration');
    await page.getByText('connected').waitFor();
    await page.getByLabel('Id of the agent').fill('mill-host');
    await page.keyboard.press('Enter');
    const code = page.getByRole('textbox', { name: 'Code for mill-host' });
    await code.waitFor();
    const secret = await code.inputValue();
    keepSecret(secret);
    expect(secret.length).toBeGreaterThan(15);
    await page.getByText('workbench-agent enroll').waitFor();
    await expectAccessible(page);
    await page.getByRole('button', { name: 'I have it: close' }).click();
    await page.getByLabel('Id of the agent').waitFor();
    expect(await page.content()).not.toContain(secret);
    await page.getByRole('button', { name: 'Revoke: mill-host' }).click();
    const dialog = page.getByRole('alertdialog', { name: 'Revoke the credential of mill-host?' });
    await dialog.getByRole('button', { name: 'Revoke' }).click();
    await dialog.waitFor({ state: 'detached' });
    await page.getByRole('button', { name: 'Revoke: mill-host' }).click();
    await dialog.getByRole('button', { name: 'Revoke' }).click();
    await dialog.getByText('The hub refused:').waitFor();
  });

  it('says why an id is refused', async () => {
    const page = await visitAs('anna', '/administration/agents');
    await page.getByLabel('Id of the agent').fill('not an id!');
    await page.keyboard.press('Enter');
    await page.getByRole('alert').getByText('The hub refused:').waitFor();
  });

  it('adds a user, changes the role and the password, and disables the user', async () => {
    const page = await visitAs('anna', '/administration/users');
    await page.getByLabel('Name').fill('nora');
    await page.getByLabel('Password', { exact: true }).fill('short');
    await page.keyboard.press('Enter');
    await page.getByRole('alert').getByText('password: must have 8 to 1024 characters').waitFor();
    await page.getByLabel('Password', { exact: true }).fill(passwordOf('nora'));
    await page.keyboard.press('Enter');
    await rowOf(page, 'nora').getByText('User: hands in').waitFor();
    const { accessToken } = await logIn(new Api(hub), 'nora');
    await page.getByRole('button', { name: 'Manage: nora' }).focus();
    await page.keyboard.press('Enter');
    const panel = page.getByRole('region', { name: 'nora' });
    await panel.getByText('No access tokens').waitFor();
    await expectAccessible(page);
    await panel.getByRole('combobox', { name: 'Role' }).selectOption('VIEWER');
    await panel.getByRole('button', { name: 'Set the role' }).click();
    await rowOf(page, 'nora').getByText('Viewer: sees').waitFor();
    const password = 'another password of nora';
    keepSecret(password);
    await panel.getByLabel('New password').fill(password);
    await panel.getByRole('button', { name: 'Set the password' }).click();
    await panel.getByText('nora has a new password, and must log in with it.').waitFor();
    expect(await statusFor(new Api(hub), accessToken)).toBe(401);
    await panel.getByRole('button', { name: 'Disable' }).click();
    const dialog = page.getByRole('alertdialog', { name: 'Disable nora?' });
    await dialog.getByRole('button', { name: 'Disable' }).click();
    await rowOf(page, 'nora').getByText('disabled').waitFor();
    await panel.getByRole('button', { name: 'Enable' }).click();
    await rowOf(page, 'nora').getByText('enabled').waitFor();
    expect(await page.content()).not.toContain(password);
  });

  it('ends the sessions of a user and revokes a token, also of a user of the configuration', async () => {
    const { accessToken } = await logIn(new Api(hub), 'udo');
    const { body } = await new Api(hub, accessToken).post('/api/x/tokens', { name: 'nightly' });
    const page = await visitAs('anna', '/administration/users');
    await rowOf(page, 'anna').getByText('you', { exact: true }).waitFor();
    await page.getByRole('button', { name: 'Manage: udo' }).click();
    const panel = page.getByRole('region', { name: 'udo' });
    await panel.getByText('comes from the configuration').waitFor();
    expect(await panel.getByRole('button', { name: 'Disable' }).count()).toBe(0);
    await panel.getByRole('button', { name: 'Revoke: nightly' }).click();
    await page.getByRole('alertdialog').getByRole('button', { name: 'Revoke' }).click();
    await panel.getByText('No access tokens').waitFor();
    expect(await statusFor(new Api(hub), String(body['token']))).toBe(401);
    await panel.getByRole('button', { name: 'End the sessions' }).click();
    const dialog = page.getByRole('alertdialog', { name: 'End all sessions of udo?' });
    await dialog.getByRole('button', { name: 'End the sessions' }).click();
    await dialog.waitFor({ state: 'detached' });
    expect(await statusFor(new Api(hub), accessToken)).toBe(401);
    await expectAccessible(page);
  });

  it('shows who did what, by filters in the address', async () => {
    const page = await visitAs('anna', '/administration/audit');
    await page.getByRole('row').filter({ hasText: '/api/2.0/auth/login' }).first().waitFor();
    await page.getByRole('textbox', { name: 'User' }).fill('anna');
    await page.getByRole('combobox', { name: 'Outcome' }).selectOption('REFUSED');
    await page.getByText('No entries').waitFor();
    await expectAccessible(page);
    expect(new URL(page.url()).search).toBe('?user=anna&outcome=REFUSED');
    await page.getByRole('combobox', { name: 'Outcome' }).selectOption('ALLOWED');
    await rowOf(page, 'anna').first().waitFor();
    await expectAccessible(page);
  });

  it('shows entries of the audit log as they come', async () => {
    const page = await visitAs('anna', '/administration/audit');
    await rowOf(page, 'login').first().waitFor();
    await logIn(new Api(hub), 'udo');
    await rowOf(page, 'udo').first().waitFor();
  });

  it('shows at a task who canceled it', async () => {
    const { accessToken } = await logIn(new Api(hub), 'anna');
    const id = await handIn({
      scripts: ['1'],
      labels: 'nowhere',
      token: (await logIn(new Api(hub), 'ulla')).accessToken,
    });
    const response = await fetch(`${hub.address}/api/2.0/workbench/task/${id}/cancel`, {
      method: 'DELETE',
      headers: { authorization: `Bearer ${accessToken}` },
    });
    expect(response.status).toBe(204);
    const page = await visitAs('anna', `/tasks/${id}`);
    await page.getByRole('region', { name: 'Life' }).getByText('by anna').waitFor();
  });

  it('shows the hubs, and which one schedules', async () => {
    const page = await visitAs('anna', '/administration/hubs');
    const row = page.getByRole('row', { name: 'Shows this page' });
    await row.getByText('Schedules').waitFor();
    await row.getByText(hub.address).waitFor();
    await row.getByText('Agents: 1, running tasks: 0').waitFor();
    await expectAccessible(page);
  });

  it('shows the machine, and the log file as it grows', async () => {
    const page = await visitAs('anna', '/administration/server');
    await page.getByText(process.version.slice(1)).waitFor();
    await page.getByRole('meter', { name: 'Memory' }).waitFor();
    await expectAccessible(page);
    await page.getByRole('link', { name: 'Log file' }).click();
    await page.getByText('The log file is empty').waitFor();
    const file = logFileOf(hub.config);
    await mkdir(dirname(file), { recursive: true });
    await appendFile(file, 'first line\n');
    await page.locator('.log-line').getByText('first line').waitFor();
    await appendFile(file, 'second line\n');
    await page.locator('.log-line').getByText('second line').waitFor();
    await page.getByText('2 lines').waitFor();
    await expectAccessible(page);
  });

  it('prepares a shutdown after a question, and takes it back, by keyboard', async () => {
    const page = await visitAs('anna', '/administration/shutdown');
    await page.getByRole('button', { name: 'Prepare a shutdown' }).focus();
    await page.keyboard.press('Enter');
    const dialog = page.getByRole('alertdialog', { name: 'Prepare a shutdown?' });
    await dialog.waitFor();
    await dialog.getByRole('button', { name: 'Prepare a shutdown' }).focus();
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'A shutdown is prepared' }).waitFor();
    await page.getByText('No task runs').waitFor();
    await expectAccessible(page);
    await page.getByRole('button', { name: 'Take it back' }).focus();
    await page.keyboard.press('Enter');
    await page.getByText('The hub accepts tasks').waitFor();
  });

  it('is not for others, and fits on a phone', async () => {
    const page = await visitAs('ulla', '/administration/audit');
    await page.getByText('This requires the role ADMIN').waitFor();
    expect(await page.getByRole('link', { name: 'Administration' }).count()).toBe(0);
    const phone = await visitAs('anna', '/administration/audit', 360);
    await rowOf(phone, 'login').first().waitFor();
    expect(await phone.evaluate('document.documentElement.scrollWidth - innerWidth')).toBeLessThanOrEqual(0);
    await expectAccessible(phone);
  });

  it('creates a token that works, shows it once, and revokes it', async () => {
    const page = await visitAs('ulla', '/tokens');
    await page.getByText('No tokens').waitFor();
    await expectAccessible(page);
    const roles = await page.getByRole('combobox', { name: 'Role' }).locator('option').count();
    expect(roles).toBe(2);
    await page.getByLabel('What is it for?').fill('nightly study');
    await page.keyboard.press('Enter');
    const field = page.getByRole('textbox', { name: 'Token for nightly study' });
    await field.waitFor();
    const token = await field.inputValue();
    keepSecret(token);
    const statusWith = async () =>
      (await fetch(`${hub.address}/api/x/caller`, { headers: { authorization: `Bearer ${token}` } })).status;
    expect(await statusWith()).toBe(200);
    await expectAccessible(page);
    await page.getByRole('button', { name: 'I have it: close' }).click();
    await rowOf(page, 'nightly study').waitFor();
    expect(await page.content()).not.toContain(token);
    await page.getByRole('button', { name: 'Revoke: nightly study' }).click();
    await page.getByRole('alertdialog').getByRole('button', { name: 'Revoke' }).click();
    await page.getByText('No tokens').waitFor();
    expect(await statusWith()).toBe(401);
  });
});

describe.runIf(hasBrowser)('the administration of a hub without security', () => {
  consoleForAllTests();

  it('says why the audit log is empty, and why there are no users', async () => {
    const page = await visit({ path: '/administration/audit' });
    await page.getByText('Security is off on this hub: it keeps no audit log.').waitFor();
    await expectAccessible(page);
    await page.getByRole('link', { name: 'Users' }).click();
    await page.getByText('Security is off on this hub: everybody may do everything.').waitFor();
    await expectAccessible(page);
  });
});
