/** The console in a real browser, at a real hub with instances that run scripts. */
import axe from 'axe-core';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, expect } from 'vitest';
import { type HubSetup, passwordOf, type RunningHub, startHub, type USERS } from '../hubs/running-hub.js';
import { base64 } from '../interface/rest-client.js';
import { startBrowser } from './browser.js';

/** Each theme in each language; pages are left in the first one. */
const APPEARANCES = [
  ['light', 'en'],
  ['dark', 'en'],
  ['dark', 'de'],
  ['light', 'de'],
];

const AXE_OPTIONS = {
  runOnly: { type: 'tag', values: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'] },
  // Its report of elements without a fault is long.
  resultTypes: ['violations'],
};

/** Instances that run JavaScript and shell scripts. */
const INSTANCES = [{ id: 'sim', version: '9.1.0', labels: ['gears'], count: 2 }];

export let hub: RunningHub;
let browser: Browser;
const contexts: BrowserContext[] = [];
/** Faults of the open pages: violations of the policy, requests to other hosts, and errors. */
const complaints: string[] = [];

/** Addresses of other servers to which pages may go. */
const others: string[] = [];

/** Lets pages of this file go to another server, such as the provider of the sign-on. */
export function allowPagesOf(address: string): void {
  others.push(`${address}/`);
}

/**
 * Starts hub and browser before all tests of the file; afterwards no page may have violated its policy. A setup that is a function is
 * called before.
 */
export function consoleForAllTests(given: HubSetup | (() => Promise<HubSetup>) = {}): void {
  beforeAll(async () => {
    const setup = typeof given === 'function' ? await given() : given;
    const config = { instances: INSTANCES, ...setup.config };
    [hub, browser] = await Promise.all([startHub({ ...setup, config }), startBrowser()]);
  });
  afterEach(async ({ task }) => {
    const shown = task.result?.state === 'fail' ? await Promise.all(openPages().map(describePage)) : [];
    await Promise.all(contexts.splice(0).map((context) => context.close()));
    expect(complaints.splice(0)).toEqual([]);
    if (shown.length > 0) throw new Error(shown.join('\n'));
  });
  afterAll(async () => {
    await browser.close();
    await hub.stop();
  });
}

function openPages(): Page[] {
  return contexts.flatMap((context) => context.pages());
}

/** Content of a page for the report of a failure: address, and elements as assistive technology sees them. */
async function describePage(page: Page): Promise<string> {
  const content = await page
    .locator('body')
    .ariaSnapshot({ timeout: 10_000 })
    .catch((error: unknown) => String(error));
  return `The page when the test failed, ${page.url()}:\n${content}`;
}

export interface Visit {
  readonly path?: string;
  /** Whose browser it is; another tab of an earlier visit with its context. */
  readonly context?: BrowserContext;
  readonly width?: number;
  readonly height?: number;
}

/** Opens a page of the console in a browser of its own. */
export async function visit({
  path = '/tasks',
  context,
  width = 1280,
  height = 800,
}: Visit = {}): Promise<Page> {
  const ours = context ?? (await newContext(width, height));
  const page = await ours.newPage();
  page.on('request', (request) => {
    const url = request.url();
    const isAllowed = [`${hub.address}/`, ...others].some((start) => url.startsWith(start));
    if (!isAllowed && !/^(?:blob|data):/.test(url)) complaints.push(`asked ${url}`);
  });
  page.on('console', (message) => {
    const text = message.text();
    // The browser reports each response of 400 and more, and each broken connection, by itself.
    if (message.type() === 'error' && !/^Failed to load resource/.test(text)) complaints.push(text);
  });
  page.on('pageerror', (error) => complaints.push(error.stack ?? error.message));
  await page.goto(hub.address + path);
  return page;
}

async function newContext(width: number, height: number): Promise<BrowserContext> {
  const context = await browser.newContext({ viewport: { width, height }, locale: 'en-GB' });
  context.setDefaultTimeout(60_000);
  contexts.push(context);
  return context;
}

/** Logs in by the form that is shown. */
export async function logInAs(page: Page, username: string): Promise<void> {
  await page.getByLabel('Username').fill(username);
  await page.getByLabel('Password').fill(passwordOf(username));
  await page.getByRole('button', { name: 'Log in' }).click();
  await page.locator('nav.navigation').waitFor();
}

/** A page of the console, of a user who has just logged in. */
export async function visitAs(username: keyof typeof USERS, path: string, width = 1280): Promise<Page> {
  const page = await visit({ path, width });
  await logInAs(page, username);
  return page;
}

/** Runs axe on the page in each appearance; leaves the page in the first one. A text, since the tests are not compiled for a browser. */
const RUN_AXE = `(async () => {
  const found = [];
  const frame = () => new Promise((resolve) => requestAnimationFrame(resolve));
  const prefer = async (theme, language) => {
    const stored = JSON.parse(localStorage.getItem('workbench-preferences') ?? '{}');
    localStorage.setItem('workbench-preferences', JSON.stringify({ ...stored, theme, language }));
    // As another tab does it.
    window.dispatchEvent(new StorageEvent('storage'));
    const { documentElement } = document;
    while (documentElement.lang !== language || documentElement.dataset.theme !== theme) await frame();
    await frame();
  };
  const appearances = ${JSON.stringify(APPEARANCES)};
  for (const [theme, language] of appearances) {
    await prefer(theme, language);
    // The contrast of elements that fade in can be measured only when the animation has ended.
    for (const animation of document.getAnimations()) animation.cancel();
    const { violations } = await axe.run(${JSON.stringify(AXE_OPTIONS)});
    for (const { id, help, nodes } of violations)
      for (const { html, failureSummary } of nodes)
        found.push(theme + ', ' + language + ': ' + id + ': ' + help + ': ' + html.slice(0, 200) + ' ' + failureSummary);
  }
  await prefer(...appearances[0]);
  return found;
})()`;

/** Fails with what axe finds on the page, in each theme and language. */
export async function expectAccessible(page: Page): Promise<void> {
  // A run takes some 20 ms, the script itself far more: it stays in the page.
  if (!(await page.evaluate('"axe" in window'))) await page.evaluate(axe.source);
  expect(await page.evaluate(RUN_AXE)).toEqual([]);
}

export interface JobOfTest {
  readonly name?: string;
  /** Scripts in JavaScript, or in a shell when they begin with `#!`. */
  readonly scripts: readonly string[];
  readonly variables?: Readonly<Record<string, string>>;
  readonly labels?: string;
  readonly token?: string;
}

/** Hands in a job over the wire; returns the id of its task. */
export async function handIn({ name, scripts, variables = {}, labels, token }: JobOfTest): Promise<string> {
  const response = await fetch(`${hub.address}/api/2.0/workbench/task/execute-batch-job/create`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
    },
    body: JSON.stringify({
      name,
      inputScripts: scripts.map((script) => ({ content: base64(script) })),
      variablesToInject: Object.entries(variables).map(([key, value]) => ({ key, value })),
      classifiers: labels === undefined ? [] : [{ type: 'LABLES', value: labels }],
    }),
  });
  expect(response.status).toBe(201);
  return ((await response.json()) as { id: string }).id;
}

/** The row of the list of tasks that shows this text. */
export function rowOf(page: Page, name: string) {
  return page.getByRole('row').filter({ hasText: name });
}
