/** The console in a real browser: first load, live changes, long lists, large studies, a long log, many tabs. */
import { join } from 'node:path';
import { inFolder } from '../in-folder.js';
import { type TreeUse, treeUse } from '../machine.js';
import type { ReadyWorkload, Run, Workload, WorkloadOptions } from '../workload.js';
import { type ConsolePart, pidOf } from './console-part.js';
import { firstLoad } from './first-load.js';
import { largeStudy } from './large-study.js';
import { live } from './live.js';
import { longList } from './long-list.js';
import { longLog } from './long-log.js';
import { tabs } from './tabs.js';

const PARTS: readonly ConsolePart[] = [firstLoad, live, longList, largeStudy, longLog, tabs];

/** Also loads the driver of the browser, which no other workload needs. */
const importBrowser = () => import('../../support/browsers/browser.js');
type BrowserModule = Awaited<ReturnType<typeof importBrowser>>;

export const consolePages: Workload = {
  name: 'console',
  what: 'the console in Chromium: first load, live changes, 1,100,000 tasks, a study of 100,000 points, a log of 200 MB, ten tabs',
  prepare,
};

async function prepare(options: WorkloadOptions): Promise<ReadyWorkload> {
  const parts = PARTS.filter(({ name }) => options.only?.includes(name) ?? true);
  const browsers = await importBrowser();
  return {
    measure: async (run) => {
      const measured: Run[] = [];
      for (const part of browsers.hasBrowser ? parts : []) {
        options.say(`console: measuring ${part.name}`);
        const folder = join(run, part.name.replaceAll(' ', '-'));
        measured.push(await inFolder(folder, () => measurePart(part, browsers, { ...options, folder })));
      }
      return {
        samples: measured.flatMap(({ samples }) => samples),
        processes: measured.flatMap(({ processes }) => processes),
      };
    },
    skipped: () =>
      browsers.hasBrowser ? [] : parts.map(({ name }) => `${name}: chromium-headless-shell is not installed`),
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
): Promise<Run> {
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
      watch: (pid) => {
        pids.set('hub', pid);
        look();
      },
    });
    look();
    return {
      samples: samples.map((sample) => ({ ...sample, name: `${part.name}: ${sample.name}` })),
      processes: [...uses].map(([name, { own, beneath }]) => ({
        name: `${part.name}: ${name}`,
        cpuS: own.cpuS + (name === 'browser' ? (beneath?.cpuS ?? 0) : 0),
        peakRssMib: own.peakRssMib + (name === 'browser' ? (beneath?.peakRssMib ?? 0) : 0),
      })),
    };
  } finally {
    clearInterval(looking);
    await browser.close();
  }
}
