/** `npm run screenshots`: pictures of the console for its page, of a hub with a day of work behind it; and of all screens, to be
 *  looked at, with `--all`. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { ROOT } from '../bench/subjects/hub.js';
import { startBrowser } from '../support/browsers/browser.js';
import { endPrograms } from '../support/programs/programs.js';
import { temporaryFolder } from '../support/temporary-folder.js';
import { SCREENS, type ScreenToShow, THEMES, type Theme } from './screens.js';
import { ADMINISTRATOR, type Stage, setStage } from './stage.js';

const HELP = `npm run screenshots -- [options]

Makes the pictures of packages/docs/console.md and console-screens.md, in packages/docs/pictures. It needs Chromium's headless shell
(apt-get install chromium-headless-shell).

Options:
  --all DIR    instead makes pictures of all screens in both themes and at three widths, there
  --only A,B   these screens alone: ${SCREENS.map(({ name }) => name).join(', ')}
  --language L of the screens, en or de
`;

const DOCS_WIDTH = 1280;
const PHONE_WIDTH = 360;
const WIDTHS = [360, 1280, 2560] as const;
const HEIGHTS: Readonly<Record<number, number>> = { 360: 760, 1280: 800, 2560: 1440 };
const WEBP_QUALITY = 82;

interface Picture {
  readonly screen: ScreenToShow;
  readonly theme: Theme;
  readonly width: number;
  readonly file: string;
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      all: { type: 'string' },
      only: { type: 'string' },
      language: { type: 'string', default: 'en' },
      help: { type: 'boolean', default: false },
    },
  });
  if (values.help) return console.log(HELP);
  const only = values.only?.split(',');
  const screens = SCREENS.filter(({ name }) => only?.includes(name) ?? true);
  const pictures = values.all === undefined ? picturesOfDocs(screens) : allPictures(screens, values.all);
  const folder = await temporaryFolder();
  const browser = await startBrowser();
  try {
    console.log('Starting a hub with hosts, tasks and a day of history ...');
    const stage = await setStage(folder.path);
    try {
      await take(pictures, stage, browser, values.language);
    } finally {
      await stage.stop();
    }
  } finally {
    await browser.close();
    // Also what a failure has left running.
    await endPrograms();
    await folder.remove();
  }
}

function picturesOfDocs(screens: readonly ScreenToShow[]): Picture[] {
  const folder = join(ROOT, 'packages/docs/pictures');
  return screens.flatMap((screen) => {
    const picture = (theme: Theme, width: number, ending: string) => ({
      screen,
      theme,
      width,
      file: join(folder, `console-${screen.name}${ending}.webp`),
    });
    return [
      ...(screen.inDocs ?? ['light']).map((theme) =>
        picture(theme, DOCS_WIDTH, theme === 'light' ? '' : `-${theme}`),
      ),
      ...(screen.onPhoneInDocs ? [picture('light', PHONE_WIDTH, '-phone')] : []),
    ];
  });
}

function allPictures(screens: readonly ScreenToShow[], folder: string): Picture[] {
  mkdirSync(resolve(folder), { recursive: true });
  return WIDTHS.flatMap((width) =>
    THEMES.flatMap((theme) =>
      screens.map((screen) => {
        const file = join(resolve(folder), `${screen.name}-${width}-${theme}.png`);
        return { screen, theme, width, file };
      }),
    ),
  );
}

/** Takes all pictures, with one login for each width. */
async function take(pictures: readonly Picture[], stage: Stage, browser: Browser, language: string) {
  for (const isForStrangers of [true, undefined]) {
    for (const width of WIDTHS) {
      const wanted = pictures.filter(
        (picture) => picture.width === width && picture.screen.isForStrangers === isForStrangers,
      );
      if (wanted.length === 0) continue;
      const context = await newContext(browser, width);
      if (isForStrangers === undefined) await logIn(context, stage);
      for (const picture of wanted) await takeOne(context, stage, picture, language);
      await context.close();
    }
  }
}

async function newContext(browser: Browser, width: number): Promise<BrowserContext> {
  const viewport = { width, height: HEIGHTS[width] ?? 800 };
  const context = await browser.newContext({ viewport, locale: 'en-GB', reducedMotion: 'reduce' });
  context.setDefaultTimeout(60_000);
  return context;
}

async function logIn(context: BrowserContext, { address, passwordOf }: Stage): Promise<void> {
  const page = await context.newPage();
  await page.goto(`${address}/`);
  await page.locator('input').first().fill(ADMINISTRATOR);
  await page.locator('input[type=password]').fill(passwordOf(ADMINISTRATOR));
  await page.keyboard.press('Enter');
  await page.locator('nav.navigation').waitFor();
  await page.close();
}

async function takeOne(
  context: BrowserContext,
  stage: Stage,
  { screen, theme, file }: Picture,
  language: string,
) {
  const page = await context.newPage();
  await page.emulateMedia({ colorScheme: theme });
  await page.goto(stage.address + screen.path(stage));
  // The way to what is shown is in English.
  await speak(page, 'en');
  await screen.show(page);
  await speak(page, language);
  // Parts that are loaded later, and what fades in.
  await page.waitForLoadState('load');
  await page.waitForTimeout(700);
  await save(page, file);
  console.log(file);
  await page.close();
}

/** Chooses the language as another tab of the browser does it. */
async function speak(page: Page, language: string): Promise<void> {
  await page.evaluate(`{
    const preferences = JSON.parse(localStorage.getItem('workbench-preferences') ?? '{}');
    localStorage.setItem('workbench-preferences', JSON.stringify({ ...preferences, language: '${language}' }));
    window.dispatchEvent(new StorageEvent('storage'));
  }`);
  await page.locator(`html[lang=${language}]`).waitFor();
}

async function save(page: Page, file: string): Promise<void> {
  if (!file.endsWith('.webp')) {
    await page.screenshot({ path: file });
    return;
  }
  const session = await page.context().newCDPSession(page);
  const { data } = await session.send('Page.captureScreenshot', { format: 'webp', quality: WEBP_QUALITY });
  writeFileSync(file, Buffer.from(data, 'base64'));
}

await main();
