import type { FromLauncher, Launch, ToLauncher } from '@workbench-hub/agent/core/ports/launcher';
import { installedOnly, trialBegun, type VersionState } from '@workbench-hub/agent/core/version-states';
import { type ManualRuntime, manualRuntime } from '@workbench-hub/shared/runtime/manual-runtime';
import { beforeEach, expect, it } from 'vitest';
import { type AgentEnd, Launcher, TRIAL_LIMIT_MS } from './launcher.js';

const BUILD = '0.1.0 abc';
const LIVEZ = 'http://127.0.0.1:1/livez';
const CRASH: AgentEnd = { exitCode: 1, signal: null };
const STOPPED: AgentEnd = { exitCode: 0, signal: null };

/** An agent that the test plays. */
interface PlayedAgent {
  readonly launch: Launch;
  readonly told: FromLauncher[];
  say(message: ToLauncher): void;
  end(how: AgentEnd): void;
}

let runtime: ManualRuntime;
let state: VersionState | null;
let agents: PlayedAgent[];
let notes: string[];
let isHubThere: boolean;
/** Time that the hub takes for an answer. */
let answerMs: number;
/** Whether the state can be written. */
let isRoom: boolean;
let kills: number;

beforeEach(() => {
  runtime = manualRuntime();
  state = null;
  agents = [];
  notes = [];
  isHubThere = true;
  answerMs = 0;
  isRoom = true;
  kills = 0;
});

it('ends with the agent, with its exit code', async () => {
  const { exitCode } = await launched();
  expect(latest().launch).toEqual({ version: null, isTrial: false, installed: '/opt/workbench-agent' });
  latest().end({ exitCode: 2, signal: null });
  expect(await exitCode).toBe(2);
});

it('starts a version that is to be tried when the agent has ended, and keeps it once it has proven itself', async () => {
  const { exitCode } = await launched();
  await order('new');
  latest().end(STOPPED);
  await started(2);
  expect(latest().launch).toMatchObject({ version: 'new', isTrial: true });
  expect(state?.trial).toMatchObject({ name: 'new', starts: 1 });
  latest().say({ type: 'proven' });
  await answered();
  expect(state).toMatchObject({ current: 'new', previous: null, trial: null });
  await runtime.advance(2 * TRIAL_LIMIT_MS);
  expect(latest().told).toEqual([{ type: 'answer', fault: null }]);
  latest().end(STOPPED);
  expect(await exitCode).toBe(0);
});

it.each([
  [CRASH, 'it ended with exit code 1'],
  [STOPPED, 'it ended'],
  [{ exitCode: 2, signal: null }, 'it ended with exit code 2'],
  [{ exitCode: null, signal: 'SIGSEGV' }, 'it was ended by SIGSEGV'],
  [{ exitCode: null, signal: null, fault: 'spawn EACCES' }, 'it could not be started: spawn EACCES'],
])('starts the version before at once when the one on trial ends: %j', async (end, reason) => {
  await launched();
  await order('new');
  latest().end(STOPPED);
  await started(2);
  latest().end(end);
  await started(3);
  expect(latest().launch).toMatchObject({ version: null, isTrial: false });
  expect(state?.trial).toBeNull();
  expect(state?.failed).toMatchObject([{ name: 'new', reason, log: 'printed by new' }]);
});

it('stops a version on trial that does not prove itself, and kills it when it does not stop', async () => {
  await launched();
  await order('new');
  latest().end(STOPPED);
  await started(2);
  const tried = latest();
  await runtime.advance(TRIAL_LIMIT_MS + 1000);
  expect(tried.told).toEqual([{ type: 'stop' }]);
  expect(kills).toBe(0);
  await runtime.advance(5000);
  expect(kills).toBe(1);
  await started(3);
  expect(latest().launch.version).toBeNull();
  expect(state?.failed[0]?.reason).toBe('it did not join its hub and finish the probe job within 45 s');
});

it('counts the time that a slow hub takes for its answers', async () => {
  answerMs = 2000;
  await launched();
  await order('new');
  latest().end(STOPPED);
  await started(2);
  await runtime.advance(TRIAL_LIMIT_MS - 2000);
  expect(latest().told).toEqual([]);
  await runtime.advance(2000 + 1000 + answerMs);
  expect(latest().told).toEqual([{ type: 'stop' }]);
});

it('counts no time for which the machine slept', async () => {
  await launched();
  await order('new');
  latest().end(STOPPED);
  await started(2);
  answerMs = 60 * 60_000;
  await runtime.advance(answerMs + 1000);
  answerMs = 0;
  await runtime.advance(TRIAL_LIMIT_MS - 10_000);
  expect(latest().told).toEqual([]);
  await runtime.advance(8000);
  expect(latest().told).toEqual([{ type: 'stop' }]);
});

it('waits for a hub that cannot be reached, however long', async () => {
  await launched();
  await order('new');
  latest().end(STOPPED);
  await started(2);
  await runtime.advance(30_000);
  isHubThere = false;
  await runtime.advance(60 * 60_000);
  expect(agents).toHaveLength(2);
  expect(latest().told).toEqual([]);
  isHubThere = true;
  await runtime.advance(10_000);
  expect(latest().told).toEqual([]);
  await runtime.advance(6000);
  expect(latest().told).toEqual([{ type: 'stop' }]);
});

it('goes on with a trial that a stop of the host has interrupted, three times at most', async () => {
  state = trialBegun(installedOnly(BUILD), 'new', LIVEZ);
  for (let start = 1; start <= 3; start++) {
    const { launcher, exitCode } = await launched();
    expect(latest().launch).toMatchObject({ version: 'new', isTrial: true });
    launcher.stop();
    expect(latest().told).toEqual([{ type: 'stop' }]);
    latest().end(STOPPED);
    expect(await exitCode).toBe(0);
  }
  await launched();
  expect(latest().launch).toMatchObject({ version: null, isTrial: false });
  expect(state?.failed[0]?.reason).toBe('it did not prove itself in 3 starts');
});

it('starts the version before when one crashes three times soon after it had proven itself', async () => {
  state = { ...installedOnly(BUILD), current: 'new', provenAtMs: runtime.clock.nowMs() };
  for (let crash = 1; crash <= 2; crash++) {
    const { exitCode } = await launched();
    latest().end(CRASH);
    expect(await exitCode).toBe(1);
    await runtime.advance(60 * 60_000);
  }
  await launched();
  const before = agents.length;
  latest().end({ exitCode: null, signal: 'SIGABRT' });
  await started(before + 1);
  expect(latest().launch.version).toBeNull();
  expect(state?.failed[0]).toMatchObject({
    name: 'new',
    reason: 'it was ended by SIGABRT, after it had proven itself',
    log: 'printed by new',
  });
});

it('starts the installed file when the current version is gone', async () => {
  state = { ...installedOnly(BUILD), current: 'new' };
  await launched();
  latest().end({ exitCode: null, signal: null, fault: 'spawn ENOENT' });
  await started(2);
  expect(latest().launch.version).toBeNull();
});

it('leaves a full disk to the agent, which goes on', async () => {
  await launched();
  isRoom = false;
  latest().say({ type: 'try', name: 'new', livenessUrl: LIVEZ });
  await answered();
  expect(latest().told).toEqual([
    { type: 'answer', fault: 'the state of the versions cannot be written: ENOSPC' },
  ]);
  expect(state).toBeNull();
});

it('starts no trial that it cannot count, and the version before when it cannot write that one has failed', async () => {
  state = trialBegun(installedOnly(BUILD), 'new', LIVEZ);
  isRoom = false;
  await launched();
  expect(latest().launch).toMatchObject({ version: null, isTrial: false });

  isRoom = true;
  agents = [];
  await launched();
  expect(latest().launch.isTrial).toBe(true);
  isRoom = false;
  latest().end(CRASH);
  await started(2);
  expect(latest().launch.version).toBeNull();
});

it('writes the failure of a trial as soon as there is room', async () => {
  state = trialBegun(installedOnly(BUILD), 'new', LIVEZ);
  await launched();
  isRoom = false;
  latest().end(CRASH);
  await started(2);
  await runtime.advance(15_000);
  expect(state?.failed).toEqual([]);
  isRoom = true;
  await runtime.advance(10_000);
  expect(state).toMatchObject({ trial: null, failed: [{ name: 'new' }] });
});

/** A launcher that runs, with the agent that it has started. */
async function launched() {
  const before = agents.length;
  const launcher = await Launcher.open({
    installed: '/opt/workbench-agent',
    build: BUILD,
    start: (launch, onMessage) => {
      let end: (how: AgentEnd) => void = () => undefined;
      const ended = new Promise<AgentEnd>((resolve) => {
        end = resolve;
      });
      const told: FromLauncher[] = [];
      agents.push({ launch, told, say: onMessage, end: (how) => end(how) });
      return {
        ended,
        log: () => `printed by ${launch.version}`,
        send: (message) => void told.push(message),
        kill: () => {
          kills++;
          end({ exitCode: null, signal: 'SIGKILL' });
        },
      };
    },
    isHubThere: async () => {
      if (answerMs > 0) await new Promise<void>((go) => void runtime.timers.after(answerMs, go));
      return isHubThere;
    },
    readState: async () => state,
    writeState: async (next) => {
      if (!isRoom) throw new Error('ENOSPC');
      state = next;
    },
    runtime,
    note: (sentence) => notes.push(sentence),
  });
  const exitCode = launcher.run();
  await started(before + 1);
  return { launcher, exitCode };
}

function latest(): PlayedAgent {
  const agent = agents.at(-1);
  if (agent === undefined) throw new Error('no agent was started');
  return agent;
}

async function started(count: number): Promise<void> {
  await expect.poll(() => agents.length).toBe(count);
}

async function answered(): Promise<void> {
  const { told } = latest();
  await expect.poll(() => told.some(({ type }) => type === 'answer')).toBe(true);
}

async function order(name: string): Promise<void> {
  latest().say({ type: 'try', name, livenessUrl: LIVEZ });
  await answered();
}
