/** The console in a real browser: first load, live changes, long lists, a long log, many tabs. */
import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { type TreeUse, treeUse } from '../machine.js';
import type { ProcessUse, ReadyWorkload, Sample, Workload, WorkloadOptions } from '../workload.js';
import { type ConsolePart, pidOf } from './console-part.js';
import { firstLoad } from './first-load.js';
import { live } from './live.js';
import { longList } from './long-list.js';
import { longLog } from './long-log.js';
import { tabs } from './tabs.js';

const PARTS: readonly ConsolePart[] = [firstLoad, live, longList, longLog, tabs];

/** Also loads the driver of the browser, which no other workload needs. */
const importBrowser = () => import('../../support/browsers/browser.js');
type BrowserModule = Awaited<ReturnType<typeof importBrowser>>;

export const consolePages: Workload = {
  name: 'console',
  what: 'the console in Chromium: first load, live changes, 1,100,000 tasks, a log of 200 MB, ten tabs',
  prepare,
};

async function prepare(options: WorkloadOptions): Promise<ReadyWorkload> {
  const parts = PARTS.filter(({ name }) => options.only?.includes(name) ?? true);
  const browsers = await importBrowser();
  let used: ProcessUse[] = [];
  return {
    measure: async () => {
      used = [];
      if (!browsers.hasBrowser) return [];
      const samples: Sample[] = [];
      for (const part of parts) samples.push(...(await measurePart(part, browsers, options, used)));
      return samples;
    },
    use: () => used,
    skipped: () => (browsers.hasBrowser ? [] : parts.map(({ name }) => `${name}: Chromium is not installed`)),
    end: async () => undefined,
  };
}

/** Undefined when the process has ended. */
function useOf(pid: number): TreeUse | undefined {
  try {
    const use = treeUse(pid);
    return Number.isNaN(use.own.peakRssMib) ? undefined : use;
  } catch {
    return undefined;
  }
}

async function measurePart(
  part: ConsolePart,
  { startBrowser }: BrowserModule,
  options: WorkloadOptions,
  used: ProcessUse[],
): Promise<Sample[]> {
  const folder = join(options.folder, part.name.replaceAll(' ', '-'));
  mkdirSync(folder);
  const browser = await startBrowser();
  const pids = new Map([['browser', await pidOf(browser)]]);
  // Read while they run: the hub of a part ends with it.
  const uses = new Map<string, TreeUse>();
  const look = () => {
    for (const [name, pid] of pids) {
      const use = useOf(pid);
      if (use) uses.set(name, use);
    }
  };
  const looking = setInterval(look, 1000);
  try {
    const samples = await part.measure({
      ...options,
      browser,
      folder,
      watch: (pid) => {
        pids.set('hub', pid);
        look();
      },
    });
    look();
    return samples.map((sample) => {
      const { value, unit } = sample;
      options.say(`console: ${part.name}: ${sample.name}: ${value.toFixed(1)} ${unit}`);
      return { ...sample, name: `${part.name}: ${sample.name}` };
    });
  } finally {
    clearInterval(looking);
    await browser.close();
    for (const [name, { own, beneath }] of uses) {
      used.push({
        name: `${part.name}: ${name}`,
        cpuS: own.cpuS + (name === 'browser' ? (beneath?.cpuS ?? 0) : 0),
        peakRssMib: own.peakRssMib + (name === 'browser' ? (beneath?.peakRssMib ?? 0) : 0),
      });
    }
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
  }
}
