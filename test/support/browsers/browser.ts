/** A real browser: Debian's headless shell of Chromium, driven over its own protocol. */
import { existsSync } from 'node:fs';
import { type Browser, chromium } from 'playwright-core';

/** It draws and runs pages as Chromium does, for less than two thirds of the processor time. */
const CHROMIUM = '/usr/bin/chromium-headless-shell';

/** Name of this machine that browsers do not take for it: pages without TLS under it are not secure contexts. */
export const OTHER_HOST = 'hub.example';

/** Whether a browser is installed; always true in CI, which installs it. */
export const hasBrowser = existsSync(CHROMIUM) || process.env['CI'] !== undefined;

if (!hasBrowser) {
  console.warn(
    `\n!!! No ${CHROMIUM}: what a browser shows is NOT tested here. apt-get install chromium-headless-shell\n`,
  );
}

/** Starts the browser without a window; the caller closes it. */
export function startBrowser(): Promise<Browser> {
  return chromium.launch({
    executablePath: CHROMIUM,
    args: [
      '--no-sandbox',
      '--disable-gpu',
      '--disable-dev-shm-usage',
      '--enable-unsafe-swiftshader',
      `--host-resolver-rules=MAP ${OTHER_HOST} 127.0.0.1`,
    ],
  });
}
