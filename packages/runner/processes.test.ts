/** Ends of the processes that scripts start and leave behind, and of the runner itself. */
import { readdir, readFile } from 'node:fs/promises';
import { RPC_ERROR } from '@workbench-hub/shared/instance-protocol/messages';
import type { ProgramUnderTest } from '@workbench-hub/shared/instance-protocol/program-under-test';
import { describe, expect, it } from 'vitest';
import {
  cleanUpAfterEachTest,
  gone,
  layOut,
  oneRunnerForAll,
  printedBy,
  runner,
  start,
  startBy,
} from './fixtures/runner-under-test.js';

cleanUpAfterEachTest();

describe('workbench-runner', () => {
  oneRunnerForAll();

  it('ends what a script left running in the background', async () => {
    const folder = await layOut({
      // With job control (-m), a shell starts each program in a process group of its own.
      scripts: [
        '#!/bin/sh\nsleep 1000 & echo $! > plain.pid',
        '#!/bin/sh\nset -m; sleep 1000 & echo $! > own.pid',
      ],
    });
    expect(await runner.host.executeBatchJob(folder.params)).toEqual({ status: 'OK' });
    await gone(Number(await folder.read('plain.pid')));
    await gone(Number(await folder.read('own.pid')));
  });

  it('does not wait for a daemon that keeps the output open', async () => {
    const folder = await layOut({
      scripts: ['#!/bin/sh\nsetsid sleep 1000 & echo $! > daemon.pid; echo done'],
    });
    expect(await runner.host.executeBatchJob(folder.params)).toEqual({ status: 'OK' });
    expect(printedBy(folder)).toBe('done\n');
    process.kill(Number(await folder.read('daemon.pid')), 'SIGKILL');
  });

  it('keeps late output of a daemon out of the next job', async () => {
    const first = await layOut({
      scripts: [
        `#!/bin/sh
trap '' PIPE
setsid sh -c 'touch up; until [ -e next ]; do sleep 0.01; done; echo late; echo late >&2; touch printed' &
until [ -e up ]; do sleep 0.01; done; echo first`,
      ],
    });
    expect(await runner.host.executeBatchJob(first.params)).toEqual({ status: 'OK' });
    const second = await layOut({
      environment: { FIRST: first.params.workingDirectory },
      scripts: [
        '#!/bin/sh\ntouch "$FIRST/next"; until [ -e "$FIRST/printed" ]; do sleep 0.01; done; echo second',
      ],
    });
    expect(await runner.host.executeBatchJob(second.params)).toEqual({ status: 'OK' });
    expect(printedBy(first)).toBe('first\n');
    expect(printedBy(second)).toBe('second\n');
    expect(runner.printed('stderr')).not.toContain('late');
  });

  it('cancels a script, with what it started, and runs the next job', async () => {
    const folder = await layOut({
      scripts: ['#!/bin/sh\nsleep 1000 & echo $$ $! > pids; echo ready; wait', 'println("never")'],
    });
    const running = runner.host.executeBatchJob(folder.params);
    await runner.prints('ready');
    await runner.host.cancel(folder.params.taskId);
    await expect(running).rejects.toMatchObject({ code: RPC_ERROR.CANCELED });
    for (const pid of (await folder.read('pids')).split(' ')) await gone(Number(pid));
    expect(await folder.names()).toEqual(['pids']);
    const next = await layOut({ scripts: ['println("next")'] });
    expect(await runner.host.executeBatchJob(next.params)).toEqual({ status: 'OK' });
  });

  it('lets the program that a canceled shell script has run save its state', async () => {
    const solver = `
      process.on('SIGTERM', () => {
        console.log('saving');
        setTimeout(() => { require('node:fs').writeFileSync('saved', ''); process.exit(); }, 300);
      });
      console.log('computing');
      setInterval(() => {}, 1000);`;
    const folder = await layOut({
      scripts: [`#!/bin/sh\nnode -e "${solver.replaceAll('\n', ' ')}"; true`],
    });
    const running = runner.host.executeBatchJob(folder.params);
    await runner.prints('computing');
    await runner.host.cancel(folder.params.taskId);
    await expect(running).rejects.toMatchObject({ code: RPC_ERROR.CANCELED });
    expect(await folder.names()).toEqual(['saved']);
    expect(printedBy(folder)).toBe('computing\nsaving\n');
  });

  it('kills a canceled script that ignores SIGTERM', async () => {
    const folder = await layOut({
      scripts: [
        "process.on('SIGTERM', () => println('no')); println('stubborn'); setInterval(() => {}, 1000);",
      ],
    });
    const running = runner.host.executeBatchJob(folder.params);
    await runner.prints('stubborn');
    await runner.host.cancel(folder.params.taskId);
    await expect(running).rejects.toMatchObject({ code: RPC_ERROR.CANCELED });
    expect(printedBy(folder)).toBe('stubborn\nno\n');
  });
});

describe('a script that prints without end', () => {
  it('is held back, and can be canceled', async () => {
    const runner = await start('--interpreter', 'sh');
    const folder = await layOut({ scripts: ['yes'] });
    const running = runner.host.executeBatchJob(folder.params);
    // More than all buffers between script and reader can hold.
    while (runner.outputs.length < 200) await new Promise(setImmediate);
    await runner.host.cancel(folder.params.taskId);
    await expect(running).rejects.toMatchObject({ code: RPC_ERROR.CANCELED });
    expect(Math.max(...runner.outputs.map(({ text }) => text.length))).toBeLessThanOrEqual(65536);
  });
});

describe('the end of workbench-runner', () => {
  const lasting = '#!/bin/sh\nset -m; sleep 1000 & echo $$ $! > pids; echo ready; wait';

  it.each([
    ['and the request that created it', { requestId: 'build-4711' }, ', request build-4711'],
    ['for an agent that knows no request', {}, ''],
  ])('names the task in its own log, %s', async (_, names, shown) => {
    const runner = await start();
    const folder = await layOut({
      scripts: ['#!/bin/sh\nrm .workbench-script-1 && mkdir .workbench-script-1'],
    });
    expect(await runner.host.executeBatchJob({ ...folder.params, ...names })).toEqual({ status: 'OK' });
    expect(await runner.shutdown()).toBe(0);
    expect(runner.log()).toMatch(
      /^workbench-runner: the file of a script stays in the working directory: .* \(task .*\)\n$/,
    );
    expect(runner.log()).toContain(` (task ${folder.params.taskId}${shown})\n`);
  });

  it.each([
    ['its standard input ends', (runner: ProgramUnderTest) => runner.hangUp()],
    ['it is told to shut down', (runner: ProgramUnderTest) => runner.shutdown()],
    ['it gets SIGTERM', (runner: ProgramUnderTest) => runner.signal('SIGTERM')],
    ['it is killed', (runner: ProgramUnderTest) => runner.signal('SIGKILL')],
  ])('ends its script when %s', async (_, end) => {
    const runner = await start();
    const folder = await layOut({ scripts: [lasting] });
    const running = runner.host.executeBatchJob(folder.params);
    running.catch(() => undefined);
    await runner.prints('ready');
    await end(runner);
    for (const pid of (await folder.read('pids')).split(' ')) await gone(Number(pid));
  });

  it('ends its script when it is killed, also where the folder for temporary files is missing', async () => {
    const runner = await startBy(['env', 'TMPDIR=/not/there']);
    const folder = await layOut({ scripts: [lasting] });
    const running = runner.host.executeBatchJob(folder.params);
    running.catch(() => undefined);
    await runner.prints('ready');
    await runner.signal('SIGKILL');
    for (const pid of (await folder.read('pids')).split(' ')) await gone(Number(pid));
    expect(runner.log()).not.toContain('guard');
  });

  it('leaves no process behind when idle', async () => {
    const runner = await start();
    const folder = await layOut({ scripts: ['#!/bin/sh\necho $PPID'] });
    await runner.host.executeBatchJob(folder.params);
    expect(Number(runner.printed())).toBe(runner.pid);
    const children = async () => {
      const found: number[] = [];
      for (const name of await readdir('/proc')) {
        const stat = await readFile(`/proc/${name}/stat`, 'utf8').catch(() => '');
        if (Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1]) === runner.pid)
          found.push(Number(name));
      }
      return found;
    };
    const guards = await children();
    expect(await runner.shutdown()).toBe(0);
    for (const pid of guards) await gone(pid);
  });
});
