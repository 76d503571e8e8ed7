/** The states of each view in a browser: loading, failed, refused, and what it shows when the hub responds again. */
import type { Page, Request } from 'playwright-core';
import { beforeAll, describe, expect, it } from 'vitest';
import { hasBrowser } from '../support/browsers/browser.js';
import { consoleForAllTests, expectAccessible, handIn, hub, visitAs } from '../support/browsers/console.js';
import { eventually } from '../support/eventually.js';
import { logIn } from '../support/hubs/login.js';
import { USERS } from '../support/hubs/running-hub.js';
import { Api } from '../support/interface/api.js';
import { base64 } from '../support/interface/rest-client.js';

interface View {
  readonly title: string;
  readonly path: () => string;
  /** Path of the endpoint from which it has its data. */
  readonly endpoint: () => string;
  /** Comes from the page to the view. */
  readonly open?: (page: Page) => Promise<void>;
  /** Shows when the data are there. */
  readonly shown: (page: Page) => Promise<unknown>;
  /** Whether it is watched for a time, since it does not ask again, or not steadily, when the page is looked at again. */
  readonly isWatched?: true;
}

const text = (words: string) => (page: Page) => page.getByText(words).first().waitFor();
const tab = (name: RegExp) => (page: Page) => page.getByRole('tab', { name }).click();

let ended = '';
let waiting = '';
let study = '';

const VIEWS: readonly View[] = [
  {
    title: 'the numbers of the overview',
    path: () => '/',
    endpoint: () => '/api/x/tasks',
    shown: text('Normal: 1'),
  },
  {
    title: 'the charts of the overview',
    path: () => '/',
    endpoint: () => '/api/x/statistics',
    shown: (page) => page.locator('.chart canvas').nth(1).waitFor(),
  },
  {
    title: 'the hosts of the overview',
    path: () => '/',
    endpoint: () => '/api/2.0/workbench/node/instance/list',
    shown: (page) => page.locator('.hosts > li').first().waitFor(),
  },
  {
    title: 'the tasks',
    path: () => '/tasks',
    endpoint: () => '/api/x/tasks',
    shown: text('2 tasks'),
    isWatched: true,
  },
  {
    title: 'a task',
    path: () => `/tasks/${ended}`,
    endpoint: () => `/api/x/tasks/${ended}`,
    shown: text('Finished'),
  },
  {
    title: 'why a task waits',
    path: () => `/tasks/${waiting}`,
    endpoint: () => `/api/x/tasks/${waiting}/explain`,
    shown: text('No instance that the hub knows fits'),
  },
  {
    title: 'a script of a task',
    path: () => `/tasks/${ended}`,
    endpoint: () => `/api/x/tasks/${ended}/inputs/`,
    open: tab(/Inputs/),
    shown: text('writeFileSync'),
  },
  {
    title: 'the preview of an output',
    path: () => `/tasks/${ended}`,
    endpoint: () => `/api/x/tasks/${ended}/outputs/`,
    open: async (page) => {
      await tab(/Outputs/)(page);
      await page.getByRole('button', { name: 'sum.csv', exact: true }).click();
    },
    shown: (page) => page.getByRole('cell', { name: '42' }).waitFor(),
    isWatched: true,
  },
  { title: 'the studies', path: () => '/studies', endpoint: () => '/api/x/studies', shown: text('bearing') },
  {
    title: 'the job of a new study',
    path: () => `/studies/new?from=${ended}`,
    endpoint: () => `/api/x/tasks/${ended}`,
    shown: (page) => page.getByRole('heading', { name: /^New study/ }).waitFor(),
  },
  {
    title: 'a study',
    path: () => `/studies/${study}`,
    endpoint: () => `/api/x/studies/${study}`,
    shown: (page) => page.getByRole('heading', { name: 'bearing' }).waitFor(),
  },
  {
    title: 'the points of a study',
    path: () => `/studies/${study}`,
    endpoint: () => `/api/x/studies/${study}/points`,
    shown: text('No point has begun'),
  },
  {
    title: 'the instances',
    path: () => '/instances',
    endpoint: () => '/api/2.0/workbench/node/instance/list',
    shown: (page) => page.getByRole('link', { name: 'sim-1', exact: true }).waitFor(),
  },
  {
    title: 'an instance',
    path: () => '/instances/sim-1',
    endpoint: () => '/api/2.0/workbench/node/instance/sim-1',
    shown: (page) => page.getByRole('heading', { name: 'sim-1' }).waitFor(),
  },
  {
    title: 'the crashes of an instance',
    path: () => '/instances/sim-1',
    endpoint: () => '/api/x/instances/sim-1/crashes',
    shown: text('None since its agent started'),
  },
  {
    title: 'the latest tasks of an instance',
    path: () => '/instances/sim-2',
    endpoint: () => '/api/x/tasks',
    shown: text('None yet'),
  },
  { title: 'the hosts', path: () => '/hosts', endpoint: () => '/api/x/hosts', shown: text('No recipes') },
  {
    title: 'the storage',
    path: () => '/storage',
    endpoint: () => '/api/x/storage/input',
    shown: text('No files'),
  },
  { title: 'the tokens', path: () => '/tokens', endpoint: () => '/api/x/tokens', shown: text('No tokens') },
  {
    title: 'the agents',
    path: () => '/administration/agents',
    endpoint: () => '/api/x/agents',
    shown: text('No agents'),
  },
  {
    title: 'the users',
    path: () => '/administration/users',
    endpoint: () => '/api/x/users',
    shown: (page) => page.getByRole('button', { name: 'Manage: vera' }).waitFor(),
  },
  {
    title: 'the audit log',
    path: () => '/administration/audit',
    endpoint: () => '/api/x/audit',
    shown: text('/api/2.0/auth/login'),
  },
  {
    title: 'the hubs',
    path: () => '/administration/hubs',
    endpoint: () => '/api/x/hubs',
    shown: text('Shows this page'),
  },
  {
    title: 'the machine of the hub',
    path: () => '/administration/server',
    endpoint: () => '/api/2.0/monitoring/server-info',
    shown: (page) => page.getByRole('meter', { name: 'Memory' }).waitFor(),
  },
  {
    title: 'the preparation of a shutdown',
    path: () => '/administration/shutdown',
    endpoint: () => '/api/2.0/admin/prepare-shutdown',
    shown: text('The hub accepts tasks'),
  },
];

type Mode = 'stalls' | 'fails' | 'refuses' | 'is busy' | 'responds';

const ERRORS = {
  fails: { status: 500, code: 'INTERNAL_ERROR', message: 'the disk is on fire' },
  refuses: { status: 403, code: 'FORBIDDEN', message: 'this takes another role' },
  'is busy': { status: 503, code: 'OVERLOADED', message: 'too many requests at present' },
} as const;

/** Whether the address is that of the endpoint, or below one that ends with a slash. */
function isOf(endpoint: string, { pathname }: URL): boolean {
  return endpoint.endsWith('/') ? pathname.startsWith(endpoint) : pathname === endpoint;
}

/** Has the endpoint of the view respond as the present mode says. */
async function interfere(page: Page, endpoint: string): Promise<(mode: Mode) => void> {
  let mode: Mode = 'responds';
  await page.route(
    (url) => isOf(endpoint, url),
    async (route) => {
      if (mode === 'responds') return route.continue();
      if (mode === 'stalls') return;
      const { status, code, message } = ERRORS[mode];
      const headers = { 'content-type': 'application/json', 'x-error-code': code };
      await route.fulfill({ status, headers, body: JSON.stringify({ message }) });
    },
  );
  return (wanted) => {
    mode = wanted;
  };
}

/** Has the page ask again, as it does when it is looked at again; resolves when the endpoint, and what was asked beside it, have responded
 *  and the page has been drawn. */
async function askAgain(page: Page, endpoint: string): Promise<void> {
  const asked: Request[] = [];
  const collect = (request: Request) => void asked.push(request);
  page.on('request', collect);
  const responded = page.waitForResponse((response) => isOf(endpoint, new URL(response.url())));
  await page.evaluate("window.dispatchEvent(new Event('visibilitychange'))");
  await responded;
  page.off('request', collect);
  await Promise.all(asked.map((request) => request.response()));
  await page.evaluate('new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn)))');
}

describe.runIf(hasBrowser)('each view', () => {
  consoleForAllTests({ users: USERS });

  beforeAll(async () => {
    const { accessToken: token } = await logIn(new Api(hub), 'anna');
    const script = "require('node:fs').writeFileSync('sum.csv', 'name,sum\\nall,42\\n'); println('done')";
    ended = await handIn({ name: 'ended', scripts: [script], token });
    waiting = await handIn({ name: 'for nobody', scripts: ['1'], labels: 'nowhere', token });
    const json = {
      name: 'bearing',
      inputScripts: [{ content: base64('1') }],
      variables: [{ name: 'speed' }],
      plan: { kind: 'OPEN' },
    };
    const created = await new Api(hub, token).call('POST', '/api/x/studies', { json });
    study = String(created.body['id']);
    await eventually(async () => {
      const headers = { authorization: `Bearer ${token}` };
      const { status } = (await (await fetch(`${hub.address}/api/x/tasks/${ended}`, { headers })).json()) as {
        status: string;
      };
      return status === 'FINISHED';
    });
  });

  it.each(VIEWS)('says that it loads, failed, or is refused, and recovers: $title', async (view) => {
    const page = await visitAs('anna', '/tokens');
    const respond = await interfere(page, view.endpoint());
    const come = async () => {
      await page.goto(hub.address + view.path());
      await view.open?.(page);
    };
    respond('stalls');
    await come();
    await page.locator('.loading').first().waitFor();
    respond('refuses');
    await come();
    await page.getByText('You may not see this').first().waitFor();
    expect(await page.getByRole('button', { name: 'Try again' }).count()).toBe(0);
    respond('fails');
    await come();
    await page.getByText('This could not be loaded').first().waitFor();
    await page.getByText('the disk is on fire').first().waitFor();
    await expectAccessible(page);
    // It stays while the hub is asked again.
    await page.evaluate(`{
      window.flickers = 0;
      new MutationObserver(() => {
        if (!document.body.textContent.includes('the disk is on fire')) window.flickers++;
      }).observe(document.body, { childList: true, subtree: true });
    }`);
    if (view.isWatched) await page.waitForTimeout(1500);
    else await askAgain(page, view.endpoint());
    expect(await page.evaluate('window.flickers')).toBe(0);
    respond('responds');
    const recovered = view.shown(page);
    // A view that asks each second recovers by itself.
    const tried = page
      .getByRole('button', { name: 'Try again' })
      .first()
      .click({ timeout: 2000 })
      .catch(() => undefined);
    await Promise.race([tried, recovered]);
    await recovered;
  });

  it('says why a log cannot be read or saved, and shows it as soon as it can', async () => {
    const page = await visitAs('anna', '/tokens');
    const respond = await interfere(page, `/api/2.0/workbench/task/${ended}/log`);
    respond('fails');
    await page.goto(`${hub.address}/tasks/${ended}`);
    await page.getByText('The log cannot be read at present: the disk is on fire').waitFor();
    await expectAccessible(page);
    respond('responds');
    await page.locator('.log-line').getByText('done').waitFor({ timeout: 20_000 });
    await page.getByText('The log cannot be read').waitFor({ state: 'detached' });
    respond('fails');
    await page.getByRole('button', { name: 'Download' }).click();
    await page.getByText('ended.log: the disk is on fire').waitFor();
  });

  it('says why a file cannot be saved', async () => {
    const page = await visitAs('anna', `/tasks/${ended}`);
    const respond = await interfere(page, `/api/x/tasks/${ended}/inputs/`);
    await page.getByRole('tab', { name: /Inputs/ }).click();
    await page.locator('pre').getByText('writeFileSync').waitFor();
    respond('refuses');
    await page.getByRole('button', { name: /^Download: / }).click();
    await page.getByRole('alert').getByText('this takes another role').waitFor();
  });

  it('says why the hub cannot tell when a job would run', async () => {
    const page = await visitAs('anna', '/tokens');
    const respond = await interfere(page, '/api/x/explain');
    respond('fails');
    await page.goto(`${hub.address}/new`);
    await page.getByText('The hub cannot say: the disk is on fire').waitFor();
    respond('responds');
    await page.getByText('At once').waitFor();
  });

  it('says that the hub is busy when it stays so, and recovers', async () => {
    const page = await visitAs('anna', '/tokens');
    const respond = await interfere(page, '/api/x/storage/input');
    respond('is busy');
    await page.goto(`${hub.address}/storage`);
    await page.locator('.loading').first().waitFor();
    await page.getByText('too many requests at present').waitFor();
    expect(await page.getByText('The hub cannot be reached.').count()).toBe(0);
    respond('responds');
    await page.getByText('No files').waitFor();
  });

  it('says that the hub is away when a proxy responds in its place', async () => {
    const page = await visitAs('anna', '/tasks');
    await page.getByText('2 tasks').waitFor();
    let isDown = true;
    await page.route('**/*', (route) =>
      isDown ? route.fulfill({ status: 502, body: '<h1>502 Bad Gateway</h1>' }) : route.continue(),
    );
    await page.getByRole('button', { name: /^Waiting/ }).click();
    await page.getByText('The hub cannot be reached.').waitFor();
    isDown = false;
    await page.getByText('The hub cannot be reached.').waitFor({ state: 'detached', timeout: 20_000 });
    await page.getByText('1 task', { exact: true }).waitFor();
  });

  it('has a plain word for an address at which there is nothing', async () => {
    const page = await visitAs('anna', '/nowhere/at/all');
    await page.getByText('There is nothing at this address').waitFor();
    await expectAccessible(page);
    await page.getByRole('link', { name: 'To the tasks' }).click();
    await page.getByRole('heading', { name: 'Tasks' }).waitFor();
  });
});
