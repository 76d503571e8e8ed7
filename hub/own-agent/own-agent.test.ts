import { fileURLToPath } from 'node:url';
import { LOG_LEVELS, type Logger } from '@workbench-hub/shared/runtime/logger';
import { systemRuntime } from '@workbench-hub/shared/runtime/system-runtime';
import { afterEach, expect, it } from 'vitest';
import { ownAgent } from './own-agent.js';

interface Line {
  level: number;
  msg: string;
  child?: number;
  exitCode?: number | null;
  signal?: string | null;
}

const PROGRAM = fileURLToPath(new URL('fixtures/managed-child.mjs', import.meta.url));
const stops: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const stop of stops.splice(0)) await stop();
});

function agentWith(mode: string) {
  const lines: Line[] = [];
  const logAt = (level: number) => (fields: object, msg: string) =>
    void lines.push({ level, ...fields, msg });
  const log = Object.fromEntries(
    LOG_LEVELS.map((name, at) => [name, logAt((at + 1) * 10)]),
  ) as unknown as Logger;
  const agent = ownAgent({
    config: { id: 'own', token: 'secret', mode },
    drainTimeoutMs: 0,
    runtime: systemRuntime,
    log,
    program: PROGRAM,
  });
  stops.push(() => agent.stop());
  const find = (msg: string) => lines.filter((line) => line.msg === msg);
  return { agent, lines, find };
}

it('the agent gets its configuration over the channel, and its log lines are in the log of the hub', async () => {
  const { agent, lines, find } = agentWith('stay');
  await agent.start();
  await expect.poll(() => find('not a log line')).toHaveLength(1);
  await expect.poll(() => find('configured')).toHaveLength(1);
  expect(find('configured')[0]).toMatchObject({
    level: 30,
    program: 'agent',
    config: { id: 'own', token: 'secret', mode: 'stay' },
  });
  expect(find('not a log line')[0]?.level).toBe(40);
  await agent.stop();
  expect(lines.filter(({ level }) => level > 40)).toEqual([]);
});

it('a stop waits until the agent has ended, and may be called twice or before a start', async () => {
  const { agent, find } = agentWith('stay');
  await agent.stop();
  await agent.start();
  await expect.poll(() => find('configured')).toHaveLength(1);
  const pid = find('configured')[0]?.child as number;
  await Promise.all([agent.stop(), agent.stop()]);
  expect(() => process.kill(pid, 0)).toThrow('ESRCH');
});

it('the agent is told the log level, also after a restart', async () => {
  const { agent, find } = agentWith('stay');
  await agent.start();
  await expect.poll(() => find('configured')).toHaveLength(1);
  agent.setLogLevel('debug');
  await expect.poll(() => find('told')).toMatchObject([{ logLevel: 'debug' }]);
  await expect.poll(() => find('configured')).toHaveLength(2);
  expect(find('configured')[1]).toMatchObject({ config: { mode: 'stay', log: { level: 'debug' } } });
});

it('an agent that ends by itself is restarted', async () => {
  const { agent, find } = agentWith('crash');
  await agent.start();
  await expect.poll(() => find('configured').length).toBeGreaterThanOrEqual(2);
  expect(find("the agent of the hub's own instances has ended; it is started again")[0]).toMatchObject({
    level: 50,
    exitCode: 3,
    signal: null,
  });
});
