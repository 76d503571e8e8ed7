/** The real `workbench-runner`, spoken to over its standard input and output. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, open, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { RPC_ERROR } from '@workbench-hub/shared/instance-protocol/messages';
import {
  type JobFolder,
  type JobOfTest,
  layOutJob,
  type ProgramUnderTest,
  startProgram,
} from '@workbench-hub/shared/instance-protocol/program-under-test';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';

const RUNNER = fileURLToPath(new URL('bin/workbench-runner.js', import.meta.url));
const folders: JobFolder[] = [];
const programs: ProgramUnderTest[] = [];

async function start(...args: string[]): Promise<ProgramUnderTest> {
  const program = await startProgram([process.execPath, RUNNER, ...args]);
  programs.push(program);
  return program;
}

async function layOut(job: JobOfTest): Promise<JobFolder> {
  const folder = await layOutJob(job);
  folders.push(folder);
  return folder;
}

async function isAlive(pid: number): Promise<boolean> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => undefined);
  return stat !== undefined && !/\) Z /.test(stat);
}

async function gone(pid: number): Promise<void> {
  while (await isAlive(pid)) await new Promise(setImmediate);
}

afterEach(async () => {
  for (const program of programs.splice(0)) await program.signal('SIGKILL');
  for (const folder of folders.splice(0)) await folder.remove();
});

it.skipIf(process.platform === 'win32')(
  'runs scripts also where nothing can be put into the folder for temporary files',
  async () => {
    const runner = await startProgram(['env', 'TMPDIR=/not/there', process.execPath, RUNNER]);
    programs.push(runner);
    const folder = await layOut({ scripts: ['#!/bin/sh\necho out; echo err >&2; echo done > done.txt'] });
    expect(await runner.host.executeBatchJob(folder.params)).toEqual({ status: 'OK' });
    expect(runner.outputs.map(({ stream, text }) => [stream, text]).sort()).toEqual([
      ['stderr', 'err\n'],
      ['stdout', 'out\n'],
    ]);
    expect(await folder.read('done.txt')).toBe('done\n');
  },
);

describe('workbench-runner --interpreter node', () => {
  // One runner for all of them: what a job leaves behind would show in the next.
  let runner: ProgramUnderTest;
  beforeAll(async () => {
    runner = await startProgram([process.execPath, RUNNER]);
  });
  afterAll(async () => {
    expect(await runner.shutdown()).toBe(0);
  });
  const printedBy = (folder: JobFolder) =>
    runner.outputs
      .filter(({ taskId, stream }) => taskId === folder.params.taskId && stream === 'stdout')
      .map(({ text }) => text)
      .join('');

  it('runs scripts in order, in the working directory, and leaves nothing of its own there', async () => {
    const folder = await layOut({
      scripts: [
        "require('fs').writeFileSync('order.txt', 'one\\n')",
        "import { appendFileSync } from 'node:fs';\nappendFileSync('order.txt', 'two\\n');",
        "#!/bin/sh\necho three >> order.txt; ls -a | grep '^.workbench-script-3$' >> order.txt",
      ],
    });
    expect(await runner.host.executeBatchJob(folder.params)).toEqual({ status: 'OK' });
    expect(await folder.read('order.txt')).toBe('one\ntwo\nthree\n.workbench-script-3\n');
    expect(await folder.names()).toEqual(['order.txt']);
  });

  it('finds additional files as modules, whatever package.json lies beside them', async () => {
    const folder = await layOut({
      files: {
        'helper.cjs': "module.exports = 'from helper.cjs';",
        'lib/helper.mjs': "export default 'from helper.mjs';",
        'package.json': '{"type":"module"}',
      },
      scripts: [
        "println(require('./helper.cjs'))",
        "import text from './lib/helper.mjs';\nprintln(text);",
        "println((await import('./helper.cjs')).default)",
      ],
    });
    expect(await runner.host.executeBatchJob(folder.params)).toEqual({ status: 'OK' });
    expect(printedBy(folder)).toBe('from helper.cjs\nfrom helper.mjs\nfrom helper.cjs\n');
  });

  it('gives variables as globals of type string, and print and println', async () => {
    const folder = await layOut({
      variables: { radius: '2.5', größe: 'Ä', empty: '' },
      scripts: [
        'print(typeof radius, radius * 2, größe); println(); println(empty + "|", [1, 2], { a: 1n }, null)',
        'export {}; print(radius);',
      ],
    });
    expect(await runner.host.executeBatchJob(folder.params)).toEqual({ status: 'OK' });
    expect(printedBy(folder)).toBe('string 5 Ä\n| [ 1, 2 ] { a: 1n } null\n2.5');
  });

  it('prints whatever a variable is named', async () => {
    const names = Object.getOwnPropertyNames(globalThis).filter((name) => !/^(?:print|println)$/.test(name));
    const folder = await layOut({
      variables: Object.fromEntries([...names, 'name', 'await', 'class'].map((name) => [name, 'shadowed'])),
      scripts: [
        'println(process, name, Object, 1, [2])',
        'export {}; println(process, name, Object, 1, [2])',
      ],
    });
    expect(await runner.host.executeBatchJob(folder.params)).toEqual({ status: 'OK' });
    expect(printedBy(folder)).toBe('shadowed shadowed shadowed 1 [ 2 ]\n'.repeat(2));
  });

  it('gives the environment, an empty standard input and the file with the variables', async () => {
    const folder = await layOut({
      variables: { LD_PRELOAD: 'x' },
      environment: { radius: '2.5' },
      scripts: [
        `const fs = require('fs');
         println(process.env.radius, process.env.PATH === ${JSON.stringify(process.env['PATH'])});
         println(JSON.parse(fs.readFileSync(process.env.WORKBENCH_VARIABLES, 'utf8')).LD_PRELOAD);
         println(fs.readFileSync(0).length, process.cwd() === fs.realpathSync(process.cwd()));`,
      ],
    });
    expect(await runner.host.executeBatchJob(folder.params)).toEqual({ status: 'OK' });
    expect(printedBy(folder)).toBe('2.5 true\nx\n0 true\n');
  });

  it('keeps the order of what is printed in different ways, and loses nothing at process.exit', async () => {
    const folder = await layOut({
      scripts: [
        `for (let i = 0; i < 20000; i++) { print(i, ''); console.log('a line that fills the pipe'); }
         process.exit(0);`,
      ],
    });
    expect(await runner.host.executeBatchJob(folder.params)).toEqual({ status: 'OK' });
    const expected = Array.from({ length: 20000 }, (_, i) => `${i} a line that fills the pipe\n`).join('');
    expect(printedBy(folder) === expected).toBe(true);
  });

  it('ends the job at the first script that fails, and says which', async () => {
    const folder = await layOut({
      scripts: ['println("first")', 'process.exit(7)', 'println("never")'],
    });
    expect(await runner.host.executeBatchJob(folder.params)).toEqual({
      status: 'ERROR',
      message: 'script 2 of 3 exited with code 7',
    });
    expect(printedBy(folder)).toBe('first\n');
    expect(await folder.names()).toEqual([]);
  });

  it('says by which signal a script was ended', async () => {
    const folder = await layOut({ scripts: ['#!/bin/sh\nkill -SEGV $$'] });
    expect(await runner.host.executeBatchJob(folder.params)).toEqual({
      status: 'ERROR',
      message: 'script 1 of 1 was ended by signal SIGSEGV',
    });
  });

  it("reports a script's syntax error in the log", async () => {
    const folder = await layOut({ scripts: ['this is no JavaScript'] });
    expect(await runner.host.executeBatchJob(folder.params)).toMatchObject({ status: 'ERROR' });
    expect(runner.printed('stderr')).toMatch(/\.workbench-script-1\.cjs:1\n.*SyntaxError/s);
  });

  it.each([
    ['#!/no/such/interpreter -x\n', '/no/such/interpreter'],
    ['#!/usr/bin/env no-such-interpreter\n', 'no-such-interpreter'],
  ])('cannot run a script that begins with %j', async (script, missing) => {
    const folder = await layOut({ scripts: [script] });
    await expect(runner.host.executeBatchJob(folder.params)).rejects.toMatchObject({
      code: RPC_ERROR.JOB_FAILED,
      message: expect.stringContaining(`the interpreter ${missing} is not on this host`),
    });
    expect(await folder.names()).toEqual([]);
  });

  it('fails a job whose environment no program can be given, and goes on', async () => {
    const folder = await layOut({ scripts: ['println(1)'], environment: { load: 'a\0b' } });
    await expect(runner.host.executeBatchJob(folder.params)).rejects.toMatchObject({ name: 'RpcError' });
    expect(await folder.names()).toEqual([]);
  });

  it('does not overwrite a file of the job', async () => {
    const folder = await layOut({ scripts: ['println(1)'], files: { '.workbench-script-1.cjs': 'mine' } });
    await expect(runner.host.executeBatchJob(folder.params)).rejects.toMatchObject({
      code: RPC_ERROR.JOB_FAILED,
    });
    expect(await folder.read('.workbench-script-1.cjs')).toBe('mine');
  });

  it('cannot place a script when an earlier one removed the working directory, and says so', async () => {
    const folder = await layOut({ scripts: ['#!/bin/sh\nrm -rf "$PWD"', 'println("never")'] });
    expect(await runner.host.executeBatchJob(folder.params)).toEqual({
      status: 'ERROR',
      message: 'script 2 of 2 could not be placed: the working directory is gone or not writable',
    });
  });

  it('gives what a script came to, whatever it made of its own file', async () => {
    const closing =
      '#!/bin/sh\necho data > result.csv; rm "$0"; mkdir "$0"; touch "$0/x"; echo kept > result.csv; exit $1';
    const folder = await layOut({ scripts: [closing] });
    expect(await runner.host.executeBatchJob(folder.params)).toEqual({ status: 'OK' });
    expect(await folder.read('result.csv')).toBe('kept\n');
    expect(runner.log()).toContain('the file of a script stays in the working directory');
  });

  it('gives the argument of a #! line, and env -S its words', async () => {
    const folder = await layOut({
      scripts: ['#!/bin/sh -f\necho *\r', '#!/usr/bin/env -S sh -f\necho *', '#!/usr/bin/env sh\r\necho $0'],
    });
    expect(await runner.host.executeBatchJob(folder.params)).toEqual({ status: 'OK' });
    expect(printedBy(folder)).toBe(`*\r\n*\n${folder.path('.workbench-script-3')}\n`);
  });

  it('ends what a script left running in the background', async () => {
    const folder = await layOut({
      // With job control (-m) a shell puts what it starts into a process group of its own.
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

  it('keeps what a daemon prints late out of the next job', async () => {
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

  it('lets a script open its output by name', async () => {
    const folder = await layOut({
      scripts: ['#!/bin/sh\necho one | tee /dev/stderr; echo two > /dev/stdout'],
    });
    expect(await runner.host.executeBatchJob(folder.params)).toEqual({ status: 'OK' });
    expect(printedBy(folder)).toBe('one\ntwo\n');
    expect(runner.outputs.at(-1)?.taskId).toBe(folder.params.taskId);
  });

  it('loses nothing that a script prints at once before it ends, nor half a character', async () => {
    const folder = await layOut({
      scripts: ["#!/bin/sh\nhead -c 60000 /dev/zero | tr '\\0' x; printf 'ä\\303'; printf '\\303' >&2"],
    });
    expect(await runner.host.executeBatchJob(folder.params)).toEqual({ status: 'OK' });
    expect(printedBy(folder)).toBe(`${'x'.repeat(60_000)}ä\uFFFD`);
    const { taskId } = folder.params;
    expect(runner.outputs).toContainEqual({ taskId, stream: 'stderr', text: '\uFFFD' });
  });

  it('keeps characters whole that a script prints in pieces', async () => {
    const folder = await layOut({
      scripts: [
        "#!/bin/sh\nprintf '\\303'; sleep 0.05; printf '\\244\\377'; printf '\\360\\237\\230\\200' >&2",
      ],
    });
    expect(await runner.host.executeBatchJob(folder.params)).toEqual({ status: 'OK' });
    expect(printedBy(folder)).toBe('ä\uFFFD');
    expect(runner.printed('stderr')).toContain('😀');
  });
});

describe('workbench-runner with another interpreter', () => {
  it('runs Python, with modules beside the script and variables in the environment', async () => {
    const runner = await start('--interpreter', 'python3');
    const folder = await layOut({
      files: { 'helper.py': "text = 'from helper'" },
      environment: { radius: '2.5' },
      scripts: ['import helper, os, json\nprint(helper.text, os.environ["radius"])'],
    });
    expect(await runner.host.executeBatchJob(folder.params)).toEqual({ status: 'OK' });
    expect(runner.printed()).toBe('from helper 2.5\n');
    expect(await folder.names()).toEqual(['helper.py']);
  });

  it('takes a command with arguments', async () => {
    const runner = await start('--interpreter', "sh -c 'echo run: $0'");
    const folder = await layOut({ scripts: ['anything'] });
    expect(await runner.host.executeBatchJob(folder.params)).toEqual({ status: 'OK' });
    expect(runner.printed()).toBe(`run: ${folder.path('.workbench-script-1')}\n`);
  });

  it('says what to do when the interpreter is missing, and still runs scripts that name another', async () => {
    const runner = await start('--interpreter', 'no-such-interpreter --quiet');
    const failing = await layOut({ scripts: ['anything'] });
    await expect(runner.host.executeBatchJob(failing.params)).rejects.toMatchObject({
      code: RPC_ERROR.JOB_FAILED,
      message: expect.stringMatching(
        /^the interpreter no-such-interpreter is not on this host: .*--interpreter/,
      ),
    });
    const folder = await layOut({ scripts: ['#!/bin/sh\necho fine'] });
    expect(await runner.host.executeBatchJob(folder.params)).toEqual({ status: 'OK' });
    expect(runner.log()).toContain('no-such-interpreter');
  });

  it('holds a script back that prints without end, and can cancel it', async () => {
    const runner = await start('--interpreter', 'sh');
    const folder = await layOut({ scripts: ['yes'] });
    const running = runner.host.executeBatchJob(folder.params);
    while (runner.outputs.length < 2000) {
      await new Promise(setImmediate);
    }
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

describe("workbench-runner's standard input", () => {
  const COUNT = 5000;
  // It is not initialized, and says so to each.
  const request = (id: number) =>
    JSON.stringify({
      jsonrpc: '2.0',
      id,
      method: 'simulateWork',
      params: { taskId: `größe-${id}`, durationMs: 0 },
    });
  const input = Buffer.from(Array.from({ length: COUNT }, (_, id) => `${request(id)}\n`).join(''));

  async function answersOf(stdin: 'pipe' | number): Promise<number> {
    const child = spawn(process.execPath, [RUNNER], { stdio: [stdin, 'pipe', 'inherit'] });
    let text = '';
    child.stdout?.on('data', (chunk: Buffer) => (text += chunk));
    child.stdin?.end(input);
    expect(await once(child, 'close')).toEqual([0, null]);
    return text.match(/not initialized/g)?.length ?? 0;
  }

  it('is read to its end, and all of it answered, from a pipe', async () => {
    expect(await answersOf('pipe')).toBe(COUNT);
  });

  it('is read to its end, and all of it answered, from a file', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'workbench-input-'));
    await writeFile(join(folder, 'input'), input);
    const file = await open(join(folder, 'input'));
    try {
      expect(await answersOf(file.fd)).toBe(COUNT);
    } finally {
      await file.close();
      await rm(folder, { recursive: true });
    }
  });
});

describe('the command line of workbench-runner', () => {
  async function run(...args: string[]) {
    const child = spawn(process.execPath, [RUNNER, ...args], { stdio: ['ignore', 'pipe', 'pipe'] });
    let text = '';
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => (text += chunk));
    const [code] = await once(child, 'close');
    return { code, text };
  }

  it('has --help and --version', async () => {
    expect(await run('--help')).toMatchObject({ code: 0, text: expect.stringContaining('--interpreter') });
    expect(await run('--version')).toMatchObject({
      code: 0,
      text: expect.stringMatching(/^\d+\.\d+\.\d+\n$/),
    });
  });

  it.each([['--unknown'], ['rest'], ['--interpreter', ''], ['--interpreter', "sh -c 'open"]])(
    'refuses %j %j with exit code 2',
    async (...args) => expect(await run(...args)).toMatchObject({ code: 2 }),
  );
});
