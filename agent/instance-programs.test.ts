/** The programs of instances, through a whole agent: their failures, and commands to them. */
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { systemRuntime } from '@workbench-hub/shared/runtime/system-runtime';
import { describe, expect, test } from 'vitest';
import {
  agentForEachTest,
  batchJob,
  directory,
  hub,
  logLines,
  newRef,
  run,
  SIM,
  startAgent,
  startReadyAgent,
  stopAgent,
} from './fixtures/agent-for-each-test.js';
import { linux } from './process/linux.js';

agentForEachTest();

describe('instances', () => {
  const logOf = async (logType: 'stdout' | 'stderr' | 'console') => {
    const requestId = systemRuntime.newId();
    hub.send({ type: 'request', requestId, request: { kind: 'instanceLog', instanceId: SIM, logType } });
    return (await hub.receives('reply', (reply) => reply.requestId === requestId)).text ?? '';
  };
  const command = async (name: 'start' | 'stop' | 'restart', instanceId = SIM) => {
    const requestId = systemRuntime.newId();
    hub.send({ type: 'request', requestId, request: { kind: 'instanceCommand', instanceId, command: name } });
    return (await hub.receives('reply', (reply) => reply.requestId === requestId)).error;
  };

  test.each([
    [
      'exits-at-once',
      '20s',
      /exited with code 3 before it was ready; its last lines on standard error: no license found/,
    ],
    [
      'prints-rubbish',
      '20s',
      /broke the instance protocol on its standard output: .*"Welcome to the workbench!"/,
    ],
    ['never-answers', '100ms', /was killed: it did not answer "initialize" within 0.1 s/],
  ])('a program that %s says so in the logs and is tried again', async (program, startTimeout, reason) => {
    await startAgent({ program, instance: { startTimeout } });
    await hub.receives('hello');
    await expect.poll(() => logOf('console')).toMatch(reason);
    await expect.poll(() => logOf('console')).toMatch(/next start in/);
    expect(logLines.map((line) => (JSON.parse(line) as { msg: string }).msg).join('\n')).toMatch(reason);
  });

  test('a program that does not exist is named, and its tries end by command', async () => {
    // For the system a folder of that name on the PATH is a program that may not be run (EACCES), as is anything in a
    // folder that may not be read.
    await mkdir(join(directory, 'no-such-workbench'));
    const env = { PATH: `${directory}:${process.env['PATH']}` };
    await startAgent({ instance: { command: ['no-such-workbench', '-x'], env } });
    await hub.receives('hello');
    await expect.poll(() => logOf('console')).toMatch(/there is no program "no-such-workbench"/);
    const seen = hub.received.length;
    expect(await command('stop')).toBeNull();
    await hub.instanceBecomes(SIM, 'DOWN', seen);
  });

  test('obey commands; a working one first ends its task', async () => {
    await startReadyAgent();
    const flag = join(directory, 'flag');
    const ref = newRef();
    hub.assign(ref, batchJob(`echo begun; while ! test -e ${flag}; do sleep 0.02; done`));
    await hub.receives('output');
    const seen = hub.received.length;
    expect(await command('stop')).toBeNull();
    await hub.instanceBecomes(SIM, 'STOPPING', seen);
    await writeFile(flag, '');
    expect(await hub.ended(ref)).toMatchObject({ outcome: 'OK' });
    await hub.instanceBecomes(SIM, 'DOWN', seen);
    expect(await command('start')).toBeNull();
    await hub.instanceBecomes(SIM, 'UP', seen);
    expect(await command('restart', 'sim-9')).toMatch(/no instance sim-9/);
  });

  test('output is kept by stream', async () => {
    await startReadyAgent();
    await run('echo to stdout; echo to stderr >&2');
    expect(await logOf('stdout')).toBe('to stdout\n');
    expect(await logOf('stderr')).toBe('to stderr\n');
    expect(await logOf('console')).toMatch(/up: shell-workbench 1\.0\.0[\s\S]*to stdout\n/);
  });

  test('one that ignores every request is ended by force', async () => {
    await startReadyAgent({ program: 'ignores-shutdown', instance: { stopTimeout: '50ms' } });
    const nodeId = (await readFile(join(directory, 'data', 'node-id'), 'utf8')).trim();
    expect((await linux.findByCookie(`${nodeId}/`)).pids).toHaveLength(1);
    await command('stop');
    await hub.instanceBecomes(SIM, 'DOWN');
    expect((await linux.findByCookie(`${nodeId}/`)).pids).toEqual([]);
  });

  test('leave no process behind, not even one that left its group', async () => {
    await startReadyAgent({ program: 'leaves-a-stray' });
    const nodeId = (await readFile(join(directory, 'data', 'node-id'), 'utf8')).trim();
    expect((await linux.findByCookie(`${nodeId}/${SIM}`)).pids).toHaveLength(2);
    await stopAgent();
    expect((await linux.findByCookie(`${nodeId}/`)).pids).toEqual([]);
  });
});
