/** Inputs, runs and output of scripts. */
import { RPC_ERROR } from '@workbench-hub/shared/instance-protocol/messages';
import { describe, expect, it } from 'vitest';
import {
  cleanUpAfterEachTest,
  layOut,
  oneRunnerForAll,
  printedBy,
  runner,
  start,
  startBy,
} from './fixtures/runner-under-test.js';

cleanUpAfterEachTest();

it.skipIf(process.platform === 'win32')(
  'runs scripts even if the folder for temporary files is not writable',
  async () => {
    const here = await startBy(['env', 'TMPDIR=/not/there']);
    const folder = await layOut({ scripts: ['#!/bin/sh\necho out; echo err >&2; echo done > done.txt'] });
    expect(await here.host.executeBatchJob(folder.params)).toEqual({ status: 'OK' });
    expect(here.outputs.map(({ stream, text }) => [stream, text]).sort()).toEqual([
      ['stderr', 'err\n'],
      ['stdout', 'out\n'],
    ]);
    expect(await folder.read('done.txt')).toBe('done\n');
    const brief = await layOut({
      scripts: Array.from({ length: 40 }, (_, at) => `#!/bin/sh\necho ${at}`),
    });
    expect(await here.host.executeBatchJob(brief.params)).toEqual({ status: 'OK' });
    const printed = here.outputs.filter(({ taskId }) => taskId === brief.params.taskId);
    expect(printed.map(({ text }) => text).join('')).toBe(
      Array.from({ length: 40 }, (_, at) => `${at}\n`).join(''),
    );
  },
);

describe('workbench-runner --interpreter node', () => {
  oneRunnerForAll();

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

  it('prints, whatever the names of variables are', async () => {
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

  it('keeps the order of output that is printed in different ways, and loses nothing at process.exit', async () => {
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

  it('ends the job at the first script that fails, and names it', async () => {
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

  it('fails a job whose environment no program can have, and continues', async () => {
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

  it('reports the end of a script, whatever it did to its own file', async () => {
    const closing =
      '#!/bin/sh\necho data > result.csv; rm "$0"; mkdir "$0"; touch "$0/x"; echo kept > result.csv; exit $1';
    const folder = await layOut({ scripts: [closing] });
    expect(await runner.host.executeBatchJob(folder.params)).toEqual({ status: 'OK' });
    expect(await folder.read('result.csv')).toBe('kept\n');
    expect(runner.log()).toContain('the file of a script stays in the working directory');
  });

  it('passes on the argument of a #! line, and the words of env -S', async () => {
    const folder = await layOut({
      scripts: ['#!/bin/sh -f\necho *\r', '#!/usr/bin/env -S sh -f\necho *', '#!/usr/bin/env sh\r\necho $0'],
    });
    expect(await runner.host.executeBatchJob(folder.params)).toEqual({ status: 'OK' });
    expect(printedBy(folder)).toBe(`*\r\n*\n${folder.path('.workbench-script-3')}\n`);
  });

  it('lets a script open its output by name', async () => {
    const folder = await layOut({
      scripts: ['#!/bin/sh\necho one | tee /dev/stderr; echo two > /dev/stdout'],
    });
    expect(await runner.host.executeBatchJob(folder.params)).toEqual({ status: 'OK' });
    expect(printedBy(folder)).toBe('one\ntwo\n');
    expect(runner.outputs.at(-1)?.taskId).toBe(folder.params.taskId);
  });

  it.each([60_000, 1_000_000])(
    'loses nothing of %d bytes and half a character that a script prints at once',
    async (bytes) => {
      const folder = await layOut({
        scripts: [`#!/bin/sh\nhead -c ${bytes} /dev/zero | tr '\\0' x; printf 'ä\\303'; printf '\\303' >&2`],
      });
      expect(await runner.host.executeBatchJob(folder.params)).toEqual({ status: 'OK' });
      expect(printedBy(folder)).toBe(`${'x'.repeat(bytes)}ä\uFFFD`);
      const { taskId } = folder.params;
      expect(runner.outputs).toContainEqual({ taskId, stream: 'stderr', text: '\uFFFD' });
    },
  );

  it('keeps characters whole when a script prints them in pieces', async () => {
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
    expect(runner.introduction?.runs).toEqual({ scripts: ['Python'] });
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
});
