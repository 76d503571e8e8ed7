/** A log of 200 MB: when its first line is there, what the page is made of, and the way to the last line. */
import { createReadStream, readFileSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { AGENT_PATHS } from '@workbench-hub/shared/agent-protocol/messages';
import type { Page } from 'playwright-core';
import { FakeAgent } from '../../support/agents/fake-agent.js';
import { restClient } from '../../support/interface/rest-client.js';
import { type HubProgram, startHub } from '../../support/programs/programs.js';
import { treeShareMib } from '../machine.js';
import { digestOf } from '../storage/ended-job.js';
import { send } from '../storage/http.js';
import type { Sample } from '../workload.js';
import { type ConsolePart, type ConsoleStage, pidOf, VIEWPORT } from './console-part.js';

const LOG_BYTES = 200e6;
const LINES_A_BLOCK = 10_000;
const LAST_LINE = 'the last line of all';

const FIRST_LINE_LIMIT_MS = 1000;
const NODES_LIMIT = 2000;
/** The browser may take a while on a machine that is busy. */
const TIMEOUT_MS = 120_000;

export const longLog: ConsolePart = { name: 'log', measure };

async function measure(stage: ConsoleStage): Promise<Sample[]> {
  const hub = await startHub(stage.folder);
  stage.watch(hub.process.pid ?? 0);
  try {
    const id = await taskWithLog(hub, stage);
    const context = await stage.browser.newContext({ viewport: VIEWPORT, locale: 'en-GB' });
    context.setDefaultTimeout(TIMEOUT_MS);
    await context.addInitScript(WATCH);
    const page = await context.newPage();
    await page.goto(`${hub.baseUrl}/tasks/${id}`);
    await page.locator('.log-line').first().waitFor();
    const wholeMs = await wholeAfter(page);
    const searchMs = await search(page);
    const { firstLineMs, mostNodes, longestMs } = (await page.evaluate('watch')) as Watched;
    return [
      { name: 'first line after', value: firstLineMs, unit: 'ms', limit: FIRST_LINE_LIMIT_MS },
      { name: 'all of it after', value: wholeMs / 1000, unit: 's' },
      { name: 'search to a hit in the last line', value: searchMs / 1000, unit: 's' },
      { name: 'elements of the page at most', value: mostNodes, unit: '', limit: NODES_LIMIT },
      { name: 'longest pause of the page', value: longestMs, unit: 'ms' },
      { name: 'memory of the browser', value: treeShareMib(await pidOf(stage.browser)), unit: 'MiB' },
    ];
  } finally {
    await hub.stop();
  }
}

interface Watched {
  readonly firstLineMs: number;
  readonly mostNodes: number;
  readonly longestMs: number;
}

/** The log is whole when there is nothing left to follow. */
async function wholeAfter(page: Page): Promise<number> {
  await page.getByRole('button', { name: 'Follow' }).waitFor({ state: 'detached' });
  return (await page.evaluate('performance.now()')) as number;
}

async function search(page: Page): Promise<number> {
  const began = performance.now();
  await page.getByRole('searchbox', { name: 'Search the log' }).fill(LAST_LINE);
  await page.locator('.log-line.hit').getByText(LAST_LINE).waitFor();
  return performance.now() - began;
}

/** An ended task with a log of this size. */
async function taskWithLog(hub: HubProgram, { folder, scale }: ConsoleStage): Promise<string> {
  const file = join(folder, 'log.txt');
  const sizeBytes = await writeLog(file, Math.ceil(LOG_BYTES * scale));
  const digest = await digestOf(file);
  const token = readFileSync(hub.tokenFile, 'utf8').trim();
  await send(`${hub.baseUrl}${AGENT_PATHS.FILES}/${digest}`, {
    method: 'PUT',
    headers: { authorization: `Bearer ${token}`, 'content-length': sizeBytes },
    body: createReadStream(file),
    status: 204,
  });
  // Joins only now: a silent agent becomes unreachable.
  const agent = await FakeAgent.join({ address: hub.baseUrl, token });
  const id = await restClient(hub.baseUrl).createBatchJob({ inputScripts: [{ content: 'cHJpbnQ=' }] });
  const { ref } = await agent.hear('assign');
  await agent.end(ref, 'OK', { log: { digest, sizeBytes } });
  await agent.leave();
  return id;
}

/** Writes lines as solvers print them, some of them in color; returns the size. */
async function writeLog(path: string, leastBytes: number): Promise<number> {
  const file = await open(path, 'w');
  try {
    let sizeBytes = 0;
    for (let line = 0; sizeBytes < leastBytes; line += LINES_A_BLOCK) {
      const block = Array.from({ length: LINES_A_BLOCK }, (_, at) => lineOf(line + at)).join('');
      await file.writeFile(block);
      sizeBytes += block.length;
    }
    const end = `${LAST_LINE}\n`;
    await file.writeFile(end);
    return sizeBytes + end.length;
  } finally {
    await file.close();
  }
}

function lineOf(number: number): string {
  const time = (number * 1e-5).toFixed(5).padStart(10);
  const line = `[${time} s] step ${number}: residual ${(1 / (1 + (number % 977))).toExponential(6)}, energy drift ${((number % 13) * 1e-9).toExponential(2)}`;
  return number % 500 === 0 ? `\u001b[33m${line} (reassembled)\u001b[0m\n` : `${line}\n`;
}

const WATCH = `
  window.watch = { firstLineMs: 0, mostNodes: 0, longestMs: 0 };
  new PerformanceObserver((list) => {
    for (const { duration } of list.getEntries()) watch.longestMs = Math.max(watch.longestMs, duration);
  }).observe({ type: 'longtask', buffered: true });
  const look = () => {
    watch.mostNodes = Math.max(watch.mostNodes, document.getElementsByTagName('*').length);
    if (watch.firstLineMs === 0 && document.querySelector('.log-line')) watch.firstLineMs = performance.now();
    requestAnimationFrame(look);
  };
  requestAnimationFrame(look);
`;
