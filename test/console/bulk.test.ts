/** Cancel and delete of many tasks in a browser. */
import { describe, expect, it } from 'vitest';
import { hasBrowser } from '../support/browsers/browser.js';
import {
  consoleForAllTests,
  expectAccessible,
  handIn,
  hub,
  rowOf,
  visitAs,
} from '../support/browsers/console.js';
import { logIn } from '../support/hubs/login.js';
import { USERS } from '../support/hubs/running-hub.js';
import { Api } from '../support/interface/api.js';

describe.runIf(hasBrowser)('changes of many tasks', () => {
  consoleForAllTests({ users: USERS });

  async function waitingTasks(username: string, names: readonly string[]): Promise<void> {
    const { accessToken: token } = await logIn(new Api(hub), username);
    for (const name of names) await handIn({ name, scripts: ['1'], labels: 'nowhere', token });
  }

  it('show what they hit before, hit that, and nothing else, by keyboard', async () => {
    await waitingTasks('ulla', ['gear 1', 'gear 2', 'wing 1']);
    await waitingTasks('udo', ['gear 3']);
    const page = await visitAs('ulla', '/tasks?name=gear');
    await rowOf(page, 'gear 3').waitFor();
    await page.getByRole('button', { name: 'Cancel all' }).focus();
    await page.keyboard.press('Enter');
    const dialog = page.getByRole('alertdialog', { name: 'Cancel the tasks of this list?' });
    await dialog.getByText('Tasks to be canceled: 2').waitFor();
    await dialog.getByText('Only your own tasks are meant').waitFor();
    expect(await dialog.getByRole('listitem').count()).toBe(2);
    await expectAccessible(page);
    await page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'detached' });
    await page.locator('button:focus', { hasText: 'Cancel all' }).waitFor();
    await page.keyboard.press('Enter');
    await dialog.getByRole('button', { name: 'Cancel 2' }).focus();
    await page.keyboard.press('Enter');
    await dialog.getByText('Done: 2').waitFor();
    await page.keyboard.press('Escape');
    await rowOf(page, 'gear 1').getByText('Canceled', { exact: true }).waitFor();
    await rowOf(page, 'gear 3').getByText('Waiting').waitFor();
    await page.getByRole('button', { name: 'Clear filters' }).click();
    await rowOf(page, 'wing 1').getByText('Waiting').waitFor();
  });

  it('delete what has ended, warn without a filter, and fit on a phone', async () => {
    await waitingTasks('udo', ['stays']);
    const page = await visitAs('anna', '/tasks', 360);
    await page.getByRole('button', { name: 'Delete all' }).click();
    const dialog = page.getByRole('alertdialog');
    await dialog.getByText('No filter is set').waitFor();
    await dialog.getByText('This includes tasks of other users').waitFor();
    await dialog.getByText('to be deleted, with logs and outputs: 2').waitFor();
    await expectAccessible(page);
    await dialog.getByRole('button', { name: 'Delete 2' }).click();
    await dialog.getByText('Done: 2').waitFor();
    await dialog.getByRole('button', { name: 'Close' }).click();
    await rowOf(page, 'stays').waitFor();
    await rowOf(page, 'gear 1').waitFor({ state: 'detached' });
  });

  it('say when they hit nothing, and are hidden from those who only see', async () => {
    const page = await visitAs('udo', '/tasks?name=unheard');
    await page.getByRole('button', { name: 'Delete all' }).click();
    await page.getByText('None: no task of this list').waitFor();
    expect(await page.getByRole('alertdialog').getByRole('button').count()).toBe(1);
    const viewer = await visitAs('vera', '/tasks');
    await rowOf(viewer, 'stays').waitFor();
    expect(await viewer.getByRole('button', { name: 'Delete all' }).count()).toBe(0);
  });
});
