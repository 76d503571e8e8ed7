/** The list of 1.1 million tasks: each filter, and the way to the last row that can be scrolled to. */
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { startHub } from '../../support/programs/programs.js';
import { quantile } from '../figures.js';
import { fillStore, RARE } from '../lists/fill-store.js';
import type { Sample } from '../workload.js';
import { type ConsolePart, type ConsoleStage, VIEWPORT } from './console-part.js';

const ENDED = 1_000_000;
const WAITING = 100_000;
const RUNNING = 16;

const FILTER_LIMIT_MS = 300;
const FRAME_LIMIT_MS = 200;
const ROWS_LIMIT = 100;
/** More filters than the hub remembers. */
const OTHER_FILTERS = 40;
const WHEELS = 200;
const WHEEL_PIXELS = 1500;
/** Rows that the console lets one scroll to. */
const MAX_ROWS = 20_000;

interface FilterCase {
  readonly name: string;
  /** Sets the filter; the last event that it causes counts as its beginning. */
  set(page: Page): Promise<unknown>;
}

const pressed = (status: string): FilterCase => ({
  name: `status ${status}`,
  set: (page) => page.getByRole('button', { name: new RegExp(`^${status} `) }).click(),
});

const chosen = (label: string, value: string): FilterCase => ({
  name: `${label.toLowerCase()} ${value}`,
  set: (page) => page.getByRole('combobox', { name: label }).selectOption(value),
});

const typed = (label: string, text: string): FilterCase => ({
  name: `${label.toLowerCase()} ${text}`,
  set: (page) => page.getByRole('searchbox', { name: label, exact: true }).pressSequentially(text),
});

const CASES: readonly FilterCase[] = [
  pressed('Waiting'),
  pressed('Running'),
  pressed('Finished'),
  pressed('Failed'),
  pressed('Canceled'),
  chosen('Priority', 'HIGH'),
  chosen('Priority', 'LOWEST'),
  chosen('Requested', 'hour'),
  chosen('Requested', 'day'),
  chosen('Requested', 'week'),
  typed('Name', 'needle'),
  typed('Name', 'run'),
  typed('Name', '*1*2*3*'),
  typed('Name', 'gear study ab*'),
  typed('Name', 'xyzzy'),
  typed('Created by', RARE.creator),
  typed('Created by', 'user7'),
  typed('Created by', '*1*'),
  typed('Instance', 'sim-3'),
];

export const longList: ConsolePart = { name: 'list', measure };

async function measure(stage: ConsoleStage): Promise<Sample[]> {
  const { folder, scale, seed, say } = stage;
  const size = { ended: Math.ceil(ENDED * scale), waiting: Math.ceil(WAITING * scale), running: RUNNING };
  say(`console: list: writing ${size.ended + size.waiting + size.running} tasks`);
  fillStore(join(folder, 'hub', 'hub.sqlite'), size, seed).close();
  const hub = await startHub(folder);
  stage.watch(hub.process.pid ?? 0);
  try {
    const context = await stage.browser.newContext({ viewport: VIEWPORT, locale: 'en-GB' });
    context.setDefaultTimeout(60_000);
    const page = await context.newPage();
    await page.goto(`${hub.baseUrl}/tasks`);
    await page.locator('.task-row[data-index]').first().waitFor();
    await page.evaluate(WATCH);
    for (let other = 0; other < OTHER_FILTERS * Math.min(1, scale); other++)
      await (await fetch(`${hub.baseUrl}/api/x/tasks?limit=1&name=*other%20${other}*`)).text();
    const samples: Sample[] = [];
    for (const filter of CASES) {
      const value = await shownAfter(page, () => filter.set(page));
      samples.push({ name: filter.name, value, unit: 'ms', limit: FILTER_LIMIT_MS });
      await shownAfter(page, () => page.getByRole('button', { name: 'Clear filters' }).click());
    }
    return [...samples, ...(await scroll(page, Math.max(10, Math.ceil(WHEELS * Math.min(1, scale)))))];
  } finally {
    await hub.stop();
  }
}

/** Time from the last event that the action causes until another list is on the screen. */
async function shownAfter(page: Page, act: () => Promise<unknown>): Promise<number> {
  await page.evaluate('watch.begin()');
  await act();
  return (await page.evaluate('watch.shown')) as number;
}

async function scroll(page: Page, wheels: number): Promise<Sample[]> {
  await page.locator('.task-scroller').hover();
  await page.evaluate('watch.frames()');
  for (let wheel = 0; wheel < wheels; wheel++) {
    await page.mouse.wheel(0, WHEEL_PIXELS);
    await page.waitForTimeout(16);
  }
  const { frameMs, mostRows } = (await page.evaluate('watch.ended()')) as {
    frameMs: number[];
    mostRows: number;
  };
  const farMs = (await page.evaluate(`watch.scrollToEnd(${MAX_ROWS})`)) as number;
  return [
    { name: 'frame while scrolled, 99 of 100', value: quantile(frameMs, 0.99), unit: 'ms' },
    { name: 'longest frame while scrolled', value: Math.max(...frameMs), unit: 'ms', limit: FRAME_LIMIT_MS },
    { name: 'rows in the page at most', value: mostRows, unit: '', limit: ROWS_LIMIT },
    { name: 'scrolled to the last row after', value: farMs / 1000, unit: 's' },
  ];
}

/** A list is another one when the address has changed and the list is not marked as that of before. */
const WATCH = `
  let latest = 0;
  for (const type of ['input', 'change', 'click'])
    document.addEventListener(type, ({ timeStamp }) => { latest = timeStamp; }, true);
  const nextFrame = () => new Promise((resolve) => requestAnimationFrame(resolve));
  const rowsInPage = () => document.querySelectorAll('.task-row[data-index]').length;
  window.watch = {
    begin() {
      const before = location.search;
      this.shown = (async () => {
        while (location.search === before || !document.querySelector('.tasks-card[aria-busy=false]')) await nextFrame();
        await nextFrame();
        return performance.now() - latest;
      })();
    },
    frames() {
      this.frameMs = [];
      this.mostRows = 0;
      this.isScrolled = true;
      let before = performance.now();
      const look = () => {
        const now = performance.now();
        this.frameMs.push(now - before);
        before = now;
        this.mostRows = Math.max(this.mostRows, rowsInPage());
        if (this.isScrolled) requestAnimationFrame(look);
      };
      requestAnimationFrame(look);
    },
    ended() {
      this.isScrolled = false;
      return { frameMs: this.frameMs, mostRows: this.mostRows };
    },
    async scrollToEnd(maxRows) {
      const began = performance.now();
      const total = Number(document.querySelector('.task-table').getAttribute('aria-rowcount')) - 1;
      const rows = Math.min(total, maxRows);
      while (!document.querySelector('[aria-rowindex="' + (rows + 1) + '"]')) {
        const scroller = document.querySelector('.task-scroller');
        scroller.scrollTop = scroller.scrollHeight;
        await nextFrame();
      }
      return performance.now() - began;
    },
  };
`;
