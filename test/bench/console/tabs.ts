/** Ten tabs of one browser: one stream for all, what each costs, and a session that survives reloads of many tabs at once. */

import { scryptPasswords } from '@workbench-hub/hub/security/passwords';
import type { BrowserContext, Page, Request } from 'playwright-core';
import { startHub } from '../../support/programs/programs.js';
import { keepSecret } from '../../support/secrets.js';
import { treeShareMib } from '../machine.js';
import type { Sample } from '../workload.js';
import { type ConsolePart, type ConsoleStage, pidOf, VIEWPORT } from './console-part.js';

const TABS = 10;
const TABS_AT_ONCE = 20;
const RELOADS = 50;
const IDLE_MS = 10_000;
const CHANGE_LIMIT_MS = 1000;

const USERNAME = 'anna';
const PASSWORD = 'the password of the benchmark';

export const tabs: ConsolePart = { name: 'tabs', measure };

async function measure(stage: ConsoleStage): Promise<Sample[]> {
  const scale = Math.min(1, stage.scale);
  const part = (count: number) => Math.max(2, Math.ceil(count * scale));
  const passwordHash = await scryptPasswords({ ln: 10, r: 8, p: 1 }).hash(PASSWORD);
  keepSecret(PASSWORD);
  keepSecret(passwordHash);
  const users = [{ username: USERNAME, passwordHash, roles: ['USER'] }];
  const hub = await startHub(stage.folder, { security: { enabled: true, users } });
  stage.watch(hub.process.pid ?? 0);
  try {
    const context = await stage.browser.newContext({ viewport: VIEWPORT, locale: 'en-GB' });
    context.setDefaultTimeout(60_000);
    const requests = countRequests(context);
    const first = await context.newPage();
    await first.goto(`${hub.baseUrl}/tasks`);
    await logIn(first);
    await isLive(first);
    const browserPid = await pidOf(stage.browser);
    const oneMib = treeShareMib(browserPid);
    const pages = [first, ...(await openTabs(context, hub.baseUrl, part(TABS) - 1))];
    const streams = requests.openStreams();
    const tabMib = (treeShareMib(browserPid) - oneMib) / (pages.length - 1);
    const before = requests.total();
    const idleMs = Math.max(1000, IDLE_MS * scale);
    await first.waitForTimeout(idleMs);
    const idlePerS = (requests.total() - before) / (idleMs / 1000);
    const changeMs = await changeInAll(hub.baseUrl, await tokenOf(hub.baseUrl), pages);
    pages.push(...(await openTabs(context, hub.baseUrl, part(TABS_AT_ONCE) - pages.length)));
    await Promise.all(pages.map((page) => page.reload()));
    const afterRefreshes = await countLoggedIn(pages);
    for (let reload = 0; reload < part(RELOADS); reload++) await pages[reload % pages.length]?.reload();
    const afterReloads = await countLoggedIn(pages);
    return [
      { name: 'streams of events', value: streams, unit: '', limit: 1.5 },
      { name: 'requests while nothing happens', value: idlePerS, unit: 'per s' },
      { name: 'a change in all tabs after', value: changeMs, unit: 'ms', limit: CHANGE_LIMIT_MS },
      { name: 'memory of the browser with one tab', value: oneMib, unit: 'MiB' },
      { name: 'memory of each further tab', value: tabMib, unit: 'MiB' },
      {
        name: 'tabs without a session after all were loaded again at once',
        value: pages.length - afterRefreshes,
        unit: '',
        limit: 1,
      },
      {
        name: 'tabs without a session after 50 more reloads',
        value: pages.length - afterReloads,
        unit: '',
        limit: 1,
      },
    ];
  } finally {
    await hub.stop();
  }
}

interface RequestCount {
  /** Streams of events that are open now. */
  openStreams(): number;
  total(): number;
}

function countRequests(context: BrowserContext): RequestCount {
  const streams = new Set<Request>();
  let total = 0;
  context.on('request', (request) => {
    total++;
    if (new URL(request.url()).pathname === '/api/x/events') streams.add(request);
  });
  const ended = (request: Request) => void streams.delete(request);
  context.on('requestfinished', ended);
  context.on('requestfailed', ended);
  return { openStreams: () => streams.size, total: () => total };
}

async function openTabs(context: BrowserContext, address: string, count: number): Promise<Page[]> {
  const opened: Page[] = [];
  for (let tab = 0; tab < count; tab++) {
    const page = await context.newPage();
    opened.push(page);
    await page.goto(`${address}/tasks`);
    await isLive(page);
  }
  return opened;
}

async function logIn(page: Page): Promise<void> {
  await page.getByLabel('Username').fill(USERNAME);
  await page.getByLabel('Password').fill(PASSWORD);
  await page.getByRole('button', { name: 'Log in' }).click();
}

function isLive(page: Page): Promise<void> {
  return page.getByTitle('Live', { exact: true }).waitFor();
}

/** Time from the creation of a task until each tab shows it. */
async function changeInAll(address: string, token: string, pages: readonly Page[]): Promise<number> {
  const shown = Promise.all(pages.map((page) => page.getByText('seen by all').waitFor()));
  const began = performance.now();
  const response = await fetch(`${address}/api/2.0/workbench/task/simulate-work/create`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${token}` },
    body: JSON.stringify({ name: 'seen by all', duration: 1 }),
  });
  if (response.status !== 201) throw new Error(`create answered ${response.status}`);
  await shown;
  return performance.now() - began;
}

async function tokenOf(address: string): Promise<string> {
  const response = await fetch(`${address}/api/2.0/auth/login`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ username: USERNAME, password: PASSWORD }),
  });
  const { accessToken } = (await response.json()) as { accessToken: string };
  keepSecret(accessToken);
  return accessToken;
}

/** Number of tabs that show their screen instead of the login. */
async function countLoggedIn(pages: readonly Page[]): Promise<number> {
  const are = pages.map(async (page) => {
    const login = page.getByRole('button', { name: 'Log in' });
    await page.getByRole('navigation').or(login).first().waitFor();
    return (await login.count()) === 0;
  });
  return (await Promise.all(are)).filter(Boolean).length;
}
