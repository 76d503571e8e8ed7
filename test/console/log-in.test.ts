/** Login and sessions in a browser, over several tabs. */
import { describe, expect, it } from 'vitest';
import { hasBrowser } from '../support/browsers/browser.js';
import {
  consoleForAllTests,
  expectAccessible,
  handIn,
  hub,
  logInAs,
  rowOf,
  visit,
} from '../support/browsers/console.js';
import { passwordOf, USERS } from '../support/hubs/running-hub.js';

describe.runIf(hasBrowser)('the login of the console', () => {
  consoleForAllTests({ users: USERS, config: { security: { accessTokenLifetime: '2s' } } });

  it('is accessible, and says what is wrong with a password', async () => {
    const page = await visit();
    await page.getByRole('heading', { name: 'Log in' }).waitFor();
    await expectAccessible(page);
    await page.getByLabel('Username').fill('anna');
    await page.getByLabel('Password').fill('guessed');
    await page.keyboard.press('Enter');
    await page.getByText('Username or password is wrong').waitFor();
    expect(await page.getByLabel('Password').inputValue()).toBe('');
  });

  it('works by keyboard, survives reloads, and reaches the linked screen', async () => {
    const page = await visit({ path: '/tasks?status=FAILED' });
    await page.getByLabel('Username').waitFor();
    await page.keyboard.press('Tab');
    await page.keyboard.type('anna');
    await page.keyboard.press('Tab');
    await page.keyboard.type(passwordOf('anna'));
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Tasks' }).waitFor();
    expect(new URL(page.url()).search).toBe('?status=FAILED');
    for (let reload = 0; reload < 5; reload++) {
      await page.reload();
      await page.getByRole('heading', { name: 'Tasks' }).waitFor();
    }
  });

  it('asks the hub for nothing that it refuses, before the log-in and at reloads', async () => {
    const page = await visit();
    const refused: string[] = [];
    page.on('response', (response) => {
      if (response.status() >= 400) refused.push(`${response.status()} ${response.url()}`);
    });
    await page.reload();
    await page.getByRole('heading', { name: 'Log in' }).waitFor();
    await logInAs(page, 'anna');
    await page.reload();
    await page.getByRole('heading', { name: 'Tasks' }).waitFor();
    expect(refused).toEqual([]);
  });

  it('lasts in many tabs at once while access tokens expire, and ends in all of them', async () => {
    const first = await visit();
    await logInAs(first, 'anna');
    const others = await Promise.all([1, 2, 3].map(() => visit({ context: first.context() })));
    const tabs = [first, ...others];
    // Requests after the expiry of the token, in all tabs at the same time.
    await new Promise((resolve) => setTimeout(resolve, 2500));
    await Promise.all(tabs.map((tab) => tab.getByRole('button', { name: /^Failed/ }).click()));
    await Promise.all(tabs.map((tab) => tab.getByText('No task matches').waitFor()));

    await first.getByRole('button', { name: 'Settings' }).click();
    await first.getByRole('menuitem', { name: 'Log out' }).click();
    for (const tab of tabs) await tab.getByRole('heading', { name: 'Log in' }).waitFor();
  });

  it('asks again above the screen when a session has ended, and loses nothing that was typed', async () => {
    const page = await visit();
    await logInAs(page, 'ulla');
    const search = page.getByRole('searchbox', { name: 'Name' });
    const ended = page.getByRole('heading', { name: 'Your session has ended' });
    let typed = '';
    for (let times = 1; !(await ended.isVisible()); times++) {
      // A renewal that was under way has brought the cookie again.
      await page.context().clearCookies();
      // After the expiry of the access token, a request finds that the session cannot be renewed.
      const next = `half typed ${times}`;
      const isTyped = await search.fill(next, { timeout: 1000 }).then(
        () => true,
        () => false,
      );
      if (isTyped) typed = next;
      await ended.waitFor({ timeout: 1000 }).catch(() => undefined);
    }
    await expectAccessible(page);
    await page.getByLabel('Password').fill(passwordOf('ulla'));
    await page.getByRole('button', { name: 'Log in' }).click();
    await ended.waitFor({ state: 'detached' });
    expect(typed).not.toBe('');
    expect(await search.inputValue()).toBe(typed);
  });

  it('hides from a viewer, on every screen, what changes anything', async () => {
    const page = await visit();
    await logInAs(page, 'vera');
    expect(await page.getByRole('navigation').getByRole('link').allTextContents()).toEqual([
      'Overview',
      'Tasks',
      'Studies',
      'Instances',
      'Storage',
      'Access tokens',
      'Interface (API)',
    ]);
    const acts =
      /^(?:Hand in|Run again|Cancel|Delete|Upload|Renew|Start|Stop|Restart|Drain|Undrain|Revoke|Prepare)\b/;
    for (const [path, title] of [
      ['/', 'Overview'],
      ['/tasks', 'Tasks'],
      ['/studies', 'Studies'],
      ['/instances', 'Instances'],
      ['/storage', 'Storage'],
      ['/new', 'You may not see this'],
      ['/administration', 'You may not see this'],
    ] as const) {
      await page.goto(hub.address + path);
      await page.getByRole('heading', { name: title }).waitFor();
      await page.locator('.loading').first().waitFor({ state: 'detached' });
      expect(await page.getByRole('button', { name: acts }).count(), path).toBe(0);
    }
  });

  it('hides what the role does not allow', async () => {
    const { accessToken } = (await (
      await fetch(`${hub.address}/api/2.0/auth/login`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ username: 'ulla', password: passwordOf('ulla') }),
      })
    ).json()) as { accessToken: string };
    await handIn({ name: 'of ulla', scripts: ['1'], labels: 'nowhere', token: accessToken });
    for (const [username, mayCancel] of [
      ['vera', false],
      ['udo', false],
      ['ulla', true],
      ['anna', true],
    ] as const) {
      const page = await visit();
      await logInAs(page, username);
      await rowOf(page, 'of ulla').getByRole('link').click();
      await page.getByRole('heading', { name: 'Why it waits' }).waitFor();
      expect(await page.getByRole('button', { name: 'Cancel' }).count(), username).toBe(mayCancel ? 1 : 0);
      await page.context().close();
    }
  });
});
