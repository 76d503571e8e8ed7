/** Processes of a job leave nothing behind, whatever they do to hide; through a whole agent. */
import { fileURLToPath } from 'node:url';
import { systemRuntime } from '@workbench-hub/shared/runtime/system-runtime';
import { describe, expect, test } from 'vitest';
import {
  agentForEachTest,
  hub,
  logLines,
  run,
  SIM,
  startReadyAgent,
  stopAgent,
} from './fixtures/agent-for-each-test.js';
import { hasControlGroups } from './process/fixtures/isolation.js';
import { linux } from './process/linux.js';

agentForEachTest();

/** The daemon of an attacker: without the environment by which it is found, in a session of its own. It keeps writing. */
const DAEMON = `setsid env -i PATH="$PATH" sh -c 'while :; do echo alive >> late; sleep 0.01; done' > /dev/null 2>&1 &
echo $! > pid; until [ -s late ]; do sleep 0.01; done`;

const RUNNER = [
  process.execPath,
  fileURLToPath(new URL('../packages/runner/bin/workbench-runner.js', import.meta.url)),
  ...['--interpreter', 'sh'],
];

describe.skipIf(!(await hasControlGroups()))('in a control group', () => {
  test.each([
    ['the runner', { instance: { command: RUNNER } }],
    ['another program', {}],
  ])('a daemon that hides ends with its task, and %s continues', async (_, keys) => {
    await startReadyAgent(keys);
    const seen = hub.received.length;
    for (const script of [DAEMON, `${DAEMON}; exit 1`, 'echo nothing left']) {
      const { outputs } = await run(script);
      // It was dead before the outputs were collected.
      if (outputs['pid'] !== undefined) expect(linux.identify(Number(outputs['pid']))).toBeUndefined();
    }
    expect(hub.received.slice(seen).filter(({ type }) => type === 'instance')).toEqual([]);
    expect(logLines.join('')).toContain('ended orphans of a task');
    expect(logLines.join('')).not.toContain('guard');
  });

  test('a canceled job leaves no daemon either', async () => {
    await startReadyAgent();
    const ref = { taskId: systemRuntime.newId(), attempt: 1, instanceId: SIM };
    hub.assign(ref, {
      type: 'EXECUTE_BATCH_JOB',
      model: null,
      scripts: [hub.store(`${DAEMON}; cat pid; sleep 1000`)],
      additionalFiles: [],
      variables: [],
    });
    const { text } = await hub.receives('output', (output) => /^\d+\n/.test(output.text));
    hub.send({ type: 'cancel', ref });
    expect(await hub.ended(ref)).toMatchObject({ outcome: 'CANCELED' });
    expect(linux.identify(Number.parseInt(text, 10))).toBeUndefined();
  });
});

test.each([true, false])(
  'processes are looked for unless the program says that there are none (control groups: %s)',
  async (areUsed) => {
    await startReadyAgent({ overrides: { withoutControlGroups: !areUsed } });
    const sleeping = 'setsid sleep 1000 > /dev/null 2>&1 & echo $!';
    const told = Number((await run(`${sleeping}; touch none-started`)).logText);
    expect(linux.identify(told)).toBeDefined();
    const untold = Number((await run(sleeping)).logText);
    // They were killed; the system may take a moment to clear them away.
    await expect.poll(() => linux.identify(untold)).toBeUndefined();
    await stopAgent();
    await expect.poll(() => linux.identify(told)).toBeUndefined();
  },
);

test('without control groups, a process of the group that hides ends with its program', async () => {
  await startReadyAgent({ program: 'leaves-a-mute-child', overrides: { withoutControlGroups: true } });
  const { outcome, logText } = await run('true');
  expect(outcome).toBe('INSTANCE_LOST');
  const pid = Number(logText);
  expect(pid).toBeGreaterThan(0);
  // It was killed; the system may take a moment to clear it away.
  await expect.poll(() => linux.identify(pid)).toBeUndefined();
});
