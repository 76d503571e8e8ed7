/** One hub for the tests of a file, with a client. */
import { afterAll, afterEach, beforeAll, beforeEach, onTestFinished } from 'vitest';
import { Api } from '../interface/api.js';
import { type HubSetup, type RunningHub, startHub } from './running-hub.js';

/** The running hub. */
export let hub: RunningHub;
/** A client of it without a token. */
export let api: Api;

/** Starts one hub before all tests of the file, and stops it after them. */
export function hubForAllTests(setup?: HubSetup): void {
  beforeAll(() => startAnother(setup));
  afterAll(() => hub.stop());
}

/** Starts a hub before each test, and stops it after the test. */
export function hubForEachTest(setup?: HubSetup): void {
  beforeEach(() => startAnother(setup));
  afterEach(() => hub.stop());
}

/** Replaces the running hub by one of this setup. */
export async function replaceHub(setup?: HubSetup): Promise<void> {
  await hub.stop();
  await startAnother(setup);
}

/** Starts a further hub for the running test. */
export async function ownHub(setup?: HubSetup): Promise<{ readonly hub: RunningHub; readonly api: Api }> {
  const own = await startHub(setup);
  onTestFinished(own.stop);
  return { hub: own, api: new Api(own) };
}

async function startAnother(setup: HubSetup | undefined): Promise<void> {
  hub = await startHub(setup);
  api = new Api(hub);
}
