/** A part of the console's workload: what a browser shows of one hub. */
import type { Browser } from 'playwright-core';
import type { Sample, WorkloadOptions } from '../workload.js';

export interface ConsoleStage extends Pick<WorkloadOptions, 'scale' | 'seed' | 'say'> {
  /** Just started, for this part alone. */
  readonly browser: Browser;
  /** A folder of its own, empty. */
  readonly folder: string;
  /** Has the resource use of the hub shown with that of the browser. */
  watch(pid: number): void;
}

export interface ConsolePart {
  /** Prefix of the names of its samples. */
  readonly name: string;
  measure(stage: ConsoleStage): Promise<Sample[]>;
}

export const VIEWPORT = { width: 1280, height: 800 } as const;

/** Process id of a browser. */
export async function pidOf(browser: Browser): Promise<number> {
  const session = await browser.newBrowserCDPSession();
  try {
    const { processInfo } = await session.send('SystemInfo.getProcessInfo');
    return processInfo.find(({ type }) => type === 'browser')?.id ?? 0;
  } finally {
    await session.detach();
  }
}
