/** First visit to each of the main screens, with an empty cache, on a slow machine and a slow line. */
import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { BrowserContext, Page } from 'playwright-core';
import { quantile } from '../figures.js';
import { ROOT, startHub } from '../subjects/hub.js';
import type { Sample } from '../workload.js';
import { type ConsolePart, type ConsoleStage, VIEWPORT } from './console-part.js';
import { createTask, endOf } from './tasks.js';

const LOADS = 5;
const TASKS = 200;
const SLOTS = 2;

/** The line and the processor of the target. */
const LINE = { offline: false, latency: 20, downloadThroughput: 10e6 / 8, uploadThroughput: 10e6 / 8 };
const CPU_SLOWDOWN = 4;
/** Time for a load with both on a busy machine. */
const LOAD_LIMIT_MS = 120_000;

const FIRST_JAVASCRIPT_KIB = 150;
const LATER_PART_KIB = 200;
const PAINT_LIMIT_MS = 1500;

interface Screen {
  readonly name: string;
  readonly path: string;
  /** Shown once the screen has its data. */
  readonly usable: string;
}

interface Load {
  readonly paintMs: number;
  readonly usableMs: number;
  /** Names of the files of JavaScript. */
  readonly scripts: readonly string[];
}

export const firstLoad: ConsolePart = { name: 'first load', measure };

async function measure(stage: ConsoleStage): Promise<Sample[]> {
  const hub = await startHub({ folder: stage.folder, slots: SLOTS, paused: false });
  stage.watch(hub.hub.pid);
  try {
    const address = `http://127.0.0.1:${hub.port}`;
    const count = Math.max(1, Math.ceil(TASKS * Math.min(1, stage.scale)));
    const ids: string[] = [];
    for (let at = 0; at < count; at++) ids.push(await createTask(address, `task ${at}`));
    const last = ids.at(-1) ?? '';
    await endOf(address, last);
    const screens: readonly Screen[] = [
      { name: 'overview', path: '/', usable: '.tile .numbers:not(:empty)' },
      { name: 'list of tasks', path: '/tasks', usable: '.task-row[data-index]' },
      { name: 'new job', path: '/new', usable: '.answer-verdict' },
      { name: 'task', path: `/tasks/${last}`, usable: '.log-none, .log-line' },
    ];
    const samples: Sample[] = [];
    const first = new Set<string>();
    for (const screen of screens) {
      const loads: Load[] = [];
      for (let load = 0; load < Math.ceil(LOADS * Math.min(1, stage.scale)); load++)
        loads.push(await loadOnce(stage, address, screen));
      for (const script of loads[0]?.scripts ?? []) first.add(script);
      samples.push(...samplesOf(screen, loads));
    }
    const later = builtScripts().filter(({ name }) => !first.has(name));
    return [
      ...samples,
      {
        name: 'largest part that is loaded later, gzip',
        value: Math.max(...later.map(({ gzipBytes }) => gzipBytes)) / 1024,
        unit: 'KiB',
        limit: LATER_PART_KIB,
      },
    ];
  } finally {
    await hub.stop();
  }
}

function samplesOf({ name }: Screen, loads: readonly Load[]): Sample[] {
  const scripts = new Set(loads[0]?.scripts);
  const bytes = builtScripts().reduce(
    (sum, script) => sum + (scripts.has(script.name) ? script.gzipBytes : 0),
    0,
  );
  const median = (of: (load: Load) => number) => quantile(loads.map(of), 0.5);
  return [
    { name: `${name}, JavaScript, gzip`, value: bytes / 1024, unit: 'KiB', limit: FIRST_JAVASCRIPT_KIB },
    {
      name: `${name}, largest paint`,
      value: median(({ paintMs }) => paintMs),
      unit: 'ms',
      limit: PAINT_LIMIT_MS,
    },
    { name: `${name}, usable`, value: median(({ usableMs }) => usableMs), unit: 'ms' },
  ];
}

async function loadOnce({ browser }: ConsoleStage, address: string, screen: Screen): Promise<Load> {
  const context = await browser.newContext({ viewport: VIEWPORT, locale: 'en-GB' });
  try {
    context.setDefaultTimeout(LOAD_LIMIT_MS);
    await context.addInitScript(watchPaints(screen.usable));
    const page = await context.newPage();
    await slowDown(context, page);
    await page.goto(address + screen.path);
    await page.evaluate('loadTimes.isUsable');
    // A larger paint may follow the first data.
    await page.waitForTimeout(500);
    return (await page.evaluate(`({
      paintMs: loadTimes.paintMs,
      usableMs: loadTimes.usableMs,
      scripts: performance.getEntriesByType('resource')
        .map(({ name }) => new URL(name).pathname.replace('/assets/', ''))
        .filter((name) => name.endsWith('.js')),
    })`)) as Load;
  } finally {
    await context.close();
  }
}

async function slowDown(context: BrowserContext, page: Page): Promise<void> {
  const session = await context.newCDPSession(page);
  await session.send('Network.enable');
  await session.send('Network.emulateNetworkConditions', LINE);
  await session.send('Emulation.setCPUThrottlingRate', { rate: CPU_SLOWDOWN });
}

/** Notes when the largest element was painted, and in which frame the selector matched first. */
function watchPaints(usable: string): string {
  return `
    window.loadTimes = { paintMs: 0, usableMs: 0 };
    let usable;
    loadTimes.isUsable = new Promise((resolve) => { usable = resolve; });
    new PerformanceObserver((list) => {
      for (const { startTime } of list.getEntries()) loadTimes.paintMs = Math.max(loadTimes.paintMs, startTime);
    }).observe({ type: 'largest-contentful-paint', buffered: true });
    const look = () => {
      if (document.querySelector(${JSON.stringify(usable)})) {
        loadTimes.usableMs = performance.now();
        usable();
      } else requestAnimationFrame(look);
    };
    requestAnimationFrame(look);
  `;
}

function builtScripts(): { name: string; gzipBytes: number }[] {
  const site = join(ROOT, 'packages/console/dist/site');
  return readdirSync(site)
    .filter((name) => name.endsWith('.js'))
    .map((name) => ({ name, gzipBytes: statSync(join(site, `${name}.gzip`)).size }));
}
