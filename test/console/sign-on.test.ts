/** Login by the company's sign-on in a browser, with a real provider. */
import type { Page } from 'playwright-core';
import { afterAll, describe, expect, it } from 'vitest';
import { hasBrowser } from '../support/browsers/browser.js';
import {
  allowPagesOf,
  consoleForAllTests,
  expectAccessible,
  hub,
  logInAs,
  visit,
} from '../support/browsers/console.js';
import { eventually } from '../support/eventually.js';
import { AUDIENCE, providerKey, type SignOnProvider, startProvider } from '../support/hubs/oidc-provider.js';
import { USERS } from '../support/hubs/running-hub.js';

const CLIENT_ID = 'workbench-console';
const BUTTON = 'Continue with the company’s sign-on';
const TOKEN_LIFETIME_S = 3;

let provider: SignOnProvider;
/** Roles that the provider gives. */
let roles: string[] = ['USER'];

/** Enters the name at the provider. */
async function answerAtProvider(page: Page, user: string): Promise<void> {
  await page.getByRole('heading', { name: 'The provider' }).waitFor();
  await page.getByLabel('Name').fill(user);
  await page.keyboard.press('Enter');
}

describe.runIf(hasBrowser)('the login by the sign-on', () => {
  consoleForAllTests(async () => {
    provider = await startProvider({
      keys: [await providerKey('first')],
      clients: {},
      tokenLifetimeS: TOKEN_LIFETIME_S,
      browserClient: {
        id: CLIENT_ID,
        get roles() {
          return roles;
        },
      },
    });
    allowPagesOf(provider.issuer);
    const oidc = {
      issuer: provider.issuer,
      audience: AUDIENCE,
      clockTolerance: '0s',
      browserLogin: { clientId: CLIENT_ID },
    };
    return { users: USERS, config: { security: { oidc } } };
  });
  afterAll(() => provider.stop());

  it('is offered accessibly, works by keyboard, and comes back to the linked screen', async () => {
    const page = await visit({ path: '/tasks?status=FAILED' });
    await page.getByRole('button', { name: BUTTON }).waitFor();
    await expectAccessible(page);
    await page.setViewportSize({ width: 360, height: 700 });
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(360);
    await page.setViewportSize({ width: 1280, height: 800 });
    await page.getByRole('button', { name: BUTTON }).focus();
    await page.keyboard.press('Enter');
    await answerAtProvider(page, 'ada');
    await page.getByRole('heading', { name: 'Tasks' }).waitFor();
    expect(page.url()).toBe(`${hub.address}/tasks?status=FAILED`);
    // Neither code nor token is left where the page, or who uses the browser next, could find it.
    await page.goBack();
    // The page before may lead on by itself.
    const kept = await eventually(() =>
      page.evaluate<string>(
        'JSON.stringify([location.href, document.cookie, { ...localStorage }, { ...sessionStorage }])',
      ),
    );
    expect(kept).not.toMatch(/code=|state=|eyJ|signOn(?:LogIn|Refresh)/);
  });

  it('lasts over reloads and the expiry of tokens in several tabs, and ends in all of them', async () => {
    const page = await visit();
    await page.getByRole('button', { name: BUTTON }).click();
    await answerAtProvider(page, 'ada');
    await page.getByRole('heading', { name: 'Tasks' }).waitFor();
    const tabs = [page, await visit({ context: page.context() }), await visit({ context: page.context() })];
    for (const tab of tabs) await tab.getByRole('heading', { name: 'Tasks' }).waitFor();
    const before = provider.refreshes();
    await page.waitForTimeout((TOKEN_LIFETIME_S + 1) * 1000);
    await Promise.all(tabs.map((tab) => tab.getByRole('button', { name: /^Failed/ }).click()));
    await Promise.all(tabs.map((tab) => tab.getByText('No task matches').waitFor()));
    await eventually(() => provider.refreshes() > before);
    await page.reload();
    await page.getByRole('heading', { name: 'Tasks' }).waitFor();

    await page.getByRole('button', { name: 'Settings' }).click();
    await page.getByRole('menuitem', { name: 'Log out' }).click();
    for (const tab of tabs) await tab.getByRole('heading', { name: 'Log in' }).waitFor();
    await page.reload();
    await page.getByRole('heading', { name: 'Log in' }).waitFor();
  });

  it('says in plain words that it was canceled, gave no role, or was not begun here', async () => {
    const page = await visit({ path: '/storage' });
    await page.getByRole('button', { name: BUTTON }).click();
    await page.getByRole('link', { name: 'Cancel' }).click();
    await page.getByText('did not let you in, or you canceled there').waitFor();
    expect(page.url()).toBe(`${hub.address}/storage`);
    await expectAccessible(page);

    roles = ['accounting'];
    await page.getByRole('button', { name: BUTTON }).click();
    await answerAtProvider(page, 'ada');
    await page.getByText('this hub does not let you in: the sign-on gives ada none of the roles').waitFor();
    roles = ['USER'];

    const stranger = await visit({ path: '/sign-on?code=stolen&state=foreign' });
    await stranger.getByText('The log-in was not completed').waitFor();
    expect(stranger.url()).toBe(`${hub.address}/`);
  });

  it('explains to its users that scripts get their tokens there', async () => {
    const page = await visit({ path: '/tokens' });
    await page.getByRole('button', { name: BUTTON }).click();
    await answerAtProvider(page, 'ada');
    await page.getByText('Scripts get their tokens there as well').waitFor();
    await expectAccessible(page);
    expect(await page.getByRole('button', { name: 'Create a token' }).count()).toBe(0);
    const own = await visit({ path: '/tokens' });
    await logInAs(own, 'ulla');
    await own.getByRole('button', { name: 'Create a token' }).waitFor();
  });

  it('opens beside the screen of a session that has ended, which loses nothing that was typed', async () => {
    const page = await visit();
    await page.getByRole('button', { name: BUTTON }).click();
    await answerAtProvider(page, 'ada');
    const search = page.getByRole('searchbox', { name: 'Name' });
    await search.fill('half typed');
    await page.context().clearCookies();
    await page.waitForTimeout((TOKEN_LIFETIME_S + 1) * 1000);
    // A request finds that the session has ended, unless the stream of changes found it before: then the screen is behind the dialog.
    await page
      .locator('button')
      .filter({ hasText: /^Failed/ })
      .dispatchEvent('click');
    await page.getByRole('heading', { name: 'Your session has ended' }).waitFor();
    await expectAccessible(page);
    const [popup] = await Promise.all([
      page.waitForEvent('popup'),
      page.getByRole('button', { name: BUTTON }).click(),
    ]);
    const closed = popup.waitForEvent('close');
    await answerAtProvider(popup, 'ada');
    await closed;
    await page.getByRole('heading', { name: 'Your session has ended' }).waitFor({ state: 'detached' });
    expect(await search.inputValue()).toBe('half typed');
  });

  it('leaves the password of the hub beside it, also while the provider is away', async () => {
    const page = await visit();
    await page.getByRole('button', { name: BUTTON }).click();
    await answerAtProvider(page, 'ada');
    await page.getByRole('heading', { name: 'Tasks' }).waitFor();
    await provider.stop();
    await page.reload();
    await page.getByText('The company’s sign-on cannot be reached').waitFor();
    await logInAs(page, 'ulla');
    await page.getByRole('heading', { name: 'Tasks' }).waitFor();
    await page.reload();
    await page.getByRole('heading', { name: 'Tasks' }).waitFor();
  });
});
