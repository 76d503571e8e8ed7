/** Inputs, permissions and results of a batch job, through a whole agent. */
import { mkdtemp, readdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { windowsPathFault } from '@workbench-hub/shared/domain/reserved-names';
import { describe, expect, test } from 'vitest';
import {
  agentForEachTest,
  batchJob,
  directory,
  hub,
  newRef,
  run,
  SIM,
  startReadyAgent,
} from './fixtures/agent-for-each-test.js';
import { linux } from './process/linux.js';

agentForEachTest();

describe('batch jobs', () => {
  test('get their files and variables, and give back what is new or changed', async () => {
    await startReadyAgent();
    const result = await run(
      [
        'cat data/in.txt > out.txt; echo more >> changed.txt; mkdir -p a/b; printf x > a/b/c.txt',
        'printf %s "$WIDTH" > width; cp "$WORKBENCH_VARIABLES" vars.json; cat "$WORKBENCH_MODEL" > model-copy',
        'printf %s "$WORKBENCH_TASK_ID" > id; printf %s "$LD_PRELOAD$PYTHONPATH" > steering; mkfifo pipe; ln -s /etc/passwd link',
        'echo reserved > .workbench-x; test -d "$WORKBENCH_OUTPUT_STORAGE"; echo hello; echo trouble >&2',
      ].join('\n'),
      {
        model: { kind: 'BLOB', path: 'model.wbpz', ...hub.store('the model') },
        additionalFiles: [
          { path: 'data/in.txt', ...hub.store('input') },
          { path: 'changed.txt', ...hub.store('begin\n') },
          { path: 'same.txt', ...hub.store('same') },
        ],
        variables: [
          { key: 'WIDTH', value: '12.5' },
          { key: 'PYTHONPATH', value: '/evil' },
          { key: 'größe', value: 'x' },
        ],
      },
    );
    expect(result).toMatchObject({ outcome: 'OK', message: null });
    expect(result.outputs).toEqual({
      'a/b/c.txt': 'x',
      'changed.txt': 'begin\nmore\n',
      id: result.ref.taskId,
      'model-copy': 'the model',
      'out.txt': 'input',
      steering: '',
      'vars.json': JSON.stringify({ WIDTH: '12.5', PYTHONPATH: '/evil', größe: 'x' }),
      width: '12.5',
    });
    expect(result.outputFiles.map(({ path }) => path)).toEqual(Object.keys(result.outputs).sort());
    expect(result.logText).toContain('hello\n');
    expect(result.logText).toContain('trouble\n');
    expect(await readdir(join(directory, 'data', 'work'))).toEqual([]);
  });

  test('get a variable that no environment can hold by the file', async () => {
    await startReadyAgent();
    const variables = [{ key: 'MESH', value: 'm'.repeat(200_000) }];
    const result = await run('printf %s "$MESH" > mesh; cp "$WORKBENCH_VARIABLES" vars.json', { variables });
    expect(result).toMatchObject({ outcome: 'OK', message: null });
    expect(result.outputs).toEqual({ mesh: '', 'vars.json': JSON.stringify({ MESH: variables[0]?.value }) });
  });

  test('fail on a host that cannot have one of their files, and say which', async () => {
    await startReadyAgent({ overrides: { hostPathFault: windowsPathFault } });
    for (const path of ['data/nul.txt', 'out.']) {
      const result = await run('true', { additionalFiles: [{ path, ...hub.store('x') }] });
      expect(result.outcome).toBe('FAILED');
      expect(result.message).toMatch(
        /^the file "(data\/nul\.txt|out\.)" cannot be staged on the agent's host: its name must not/,
      );
    }
    const result = await run('true', { model: { kind: 'BLOB', path: 'COM1', ...hub.store('x') } });
    expect(result.message).toContain('"COM1" cannot be staged');
    expect((await run('true')).outcome).toBe('OK');
  });

  test('a script that fails leaves its outputs, and the later ones are not run', async () => {
    await startReadyAgent();
    const result = await run('echo so far > out; exit 4', {
      scripts: [hub.store('echo so far > out; exit 4'), hub.store('echo never > later')],
    });
    expect(result).toMatchObject({
      outcome: 'ERROR',
      message: 'script exited with 4',
      outputs: { out: 'so far\n' },
    });
  });

  test('a name that cannot be listed is left out, and the log says so', async () => {
    await startReadyAgent();
    const result = await run(`printf x > "$(printf 'bad\\377')"; printf x > 'back\\slash'; printf x > good`);
    expect(result.outputs).toEqual({ good: 'x' });
    expect(result.logText).toContain('not valid UTF-8');
    expect(result.logText).toContain('is no output file: its name must use');
  });

  test('what they put into WORKBENCH_OUTPUT_STORAGE is sent for the output storage', async () => {
    await startReadyAgent();
    const { storedFiles, outputs } = await run(
      'printf movie > "$WORKBENCH_OUTPUT_STORAGE/movie.bin"; printf x > out.txt; exit 3',
    );
    expect(outputs).toEqual({ 'out.txt': 'x' });
    expect(storedFiles?.map(({ path, digest }) => [path, hub.contents.get(digest)?.toString()])).toEqual([
      ['movie.bin', 'movie'],
    ]);
  });

  test.each([false, undefined])('and is left out, as the log says, when the hub says %s', async (said) => {
    hub.outputStorage = said;
    await startReadyAgent();
    const { storedFiles, outcome, logText } = await run('printf x > "$WORKBENCH_OUTPUT_STORAGE/movie.bin"');
    expect([outcome, storedFiles]).toEqual(['OK', undefined]);
    expect(logText).toBe(
      '[agent] "movie.bin" in WORKBENCH_OUTPUT_STORAGE is not stored: the hub has no output storage, or it is switched off ("storage.output.enabled" of the hub)\n',
    );
  });

  test('a daemon ends with its task, and the instance continues', async () => {
    await startReadyAgent();
    const seen = hub.received.length;
    const script = 'setsid sleep 7777 > /dev/null 2>&1 & echo $! > pid';
    for (const each of [script, `${script}; exit 1`]) {
      const { outputs } = await run(each);
      expect(outputs['pid']).toMatch(/^\d+\n$/);
      // Killed before the outputs were collected; the system may take a moment to clear it away.
      await expect.poll(() => linux.identify(Number(outputs['pid']))).toBeUndefined();
    }
    expect(hub.received.slice(seen).filter(({ type }) => type === 'instance')).toEqual([]);
  });

  test('a cancel ends the run', async () => {
    await startReadyAgent();
    const ref = newRef();
    hub.assign(ref, batchJob('echo begun; sleep 600'));
    await hub.receives('output', ({ text }) => text.includes('begun'));
    hub.send({ type: 'cancel', ref });
    expect(await hub.ended(ref)).toMatchObject({ outcome: 'CANCELED', message: 'canceled', outputFiles: [] });
    expect((await run('echo again > out')).outputs).toEqual({ out: 'again\n' });
  });

  const UNFINISHED = 'echo half > half; echo stored > "$WORKBENCH_OUTPUT_STORAGE/s"; echo begun; sleep 600';

  test.each([
    { by: 'a cancel', timeLimitMs: null, outcome: 'CANCELED', message: 'canceled' },
    { by: 'its time limit', timeLimitMs: 1500, outcome: 'FAILED', message: 'time limit of 1.5 s exceeded' },
  ])('a run that is ended by $by keeps its log and its files', async ({ timeLimitMs, outcome, message }) => {
    await startReadyAgent();
    const ref = newRef();
    hub.assign(ref, batchJob(UNFINISHED), timeLimitMs);
    await hub.receives('output', ({ text }) => text.includes('begun'));
    if (timeLimitMs === null) hub.send({ type: 'cancel', ref });
    const report = await hub.ended(ref);
    expect(report).toMatchObject({ outcome, message });
    const text = (digest: string | undefined) => hub.contents.get(digest ?? '')?.toString();
    expect(report.outputFiles.map(({ path, digest }) => [path, text(digest)])).toEqual([['half', 'half\n']]);
    expect(report.storedFiles?.map(({ path, digest }) => [path, text(digest)])).toEqual([['s', 'stored\n']]);
    expect(text(report.log?.digest)).toBe('begun\n');
  });

  test('a program that ignores a cancel is killed and started again', async () => {
    await startReadyAgent({ program: 'ignores-cancel', instance: { cancelTimeout: '50ms' } });
    const ref = newRef();
    hub.assign(ref, batchJob('true'));
    await hub.receives('output');
    const seen = hub.received.length;
    hub.send({ type: 'cancel', ref });
    expect(await hub.ended(ref)).toMatchObject({ outcome: 'CANCELED' });
    await hub.instanceBecomes(SIM, 'UP', seen);
  });

  test('a program that dies under a job loses the instance, which is started again', async () => {
    await startReadyAgent({ program: 'dies-at-work' });
    const seen = hub.received.length;
    const result = await run('true');
    expect(result.outcome).toBe('INSTANCE_LOST');
    expect(result.message).toContain('SIGKILL');
    expect(result.message).toContain('segmentation fault in solver');
    await hub.instanceBecomes(SIM, 'UP', seen);
  });

  test('endless output of a script is bounded, and keeps its beginning and end', async () => {
    await startReadyAgent({ limits: { taskLog: '100KiB' } });
    const result = await run('echo first; yes "a line of text" | head -n 200000; echo last');
    expect(result.outcome).toBe('OK');
    expect(result.logText?.startsWith('first\n')).toBe(true);
    expect(result.logText?.endsWith('last\n')).toBe(true);
    expect(result.logText).toMatch(/\[agent\] \d+ bytes are left out here: limits.taskLog/);
    expect(result.log?.sizeBytes).toBeLessThan(200 * 1024);
  });

  test('more output than the limits allow fails the job, and nothing of it is kept', async () => {
    await startReadyAgent({ limits: { taskOutputs: '2KiB' } });
    const { outputs, ...report } = await run(
      'head -c 2000 /dev/zero > a; head -c 2000 /dev/zero > b; echo said',
    );
    expect(report).toMatchObject({
      outcome: 'FAILED',
      message:
        'the job left 2 output files with 3.91 KiB (4000 bytes) in all, and this agent takes at most 2 KiB of a task (setting "limits.taskOutputs")',
      logText: 'said\n',
    });
    expect(outputs).toEqual({});
  });

  test('are kept for inspection if configured', async () => {
    await startReadyAgent({ keepWorkingDirectories: 'failed' });
    await run('echo good > out');
    const { ref } = await run('echo bad > out; exit 1');
    expect(await readdir(join(directory, 'data', 'work'))).toEqual([`${ref.taskId}-1`]);
    expect(await readFile(join(directory, 'data/work', `${ref.taskId}-1`, 'files/out'), 'utf8')).toBe(
      'bad\n',
    );
  });
});

describe('models on the host', () => {
  const model = (pathToFile: string, copyToWorkingDirectory = false) => ({
    model: { kind: 'LOCAL_FILESYSTEM' as const, pathToFile, copyToWorkingDirectory },
  });

  test('are read in place or copied under their own name', async () => {
    await writeFile(join(directory, 'gear.wbpz'), 'gears');
    await startReadyAgent({ fileRoots: [directory], uncMounts: { '\\\\server\\share': directory } });
    const script = 'printf %s "$WORKBENCH_MODEL" > where; cat "$WORKBENCH_MODEL" > what';
    const inPlace = await run(script, model(join(directory, 'gear.wbpz')));
    expect(inPlace.outputs).toEqual({ where: expect.stringMatching(/gear\.wbpz$/), what: 'gears' });
    const copied = await run(`${script}; test -f gear.wbpz`, model('\\\\SERVER\\share\\gear.wbpz', true));
    expect(copied.outcome).toBe('OK');
    expect(copied.outputs['where']).toMatch(/\/files\/gear\.wbpz$/);
  });

  test('outside fileRoots fail, also behind a link', async () => {
    await writeFile(join(directory, 'secret'), 'secret');
    await symlink(join(directory, 'secret'), join(directory, 'data-link'));
    const root = await mkdtemp(join(directory, 'root-'));
    await symlink(join(directory, 'secret'), join(root, 'link'));
    await startReadyAgent({ fileRoots: [root] });
    for (const path of [
      join(directory, 'secret'),
      join(root, 'link'),
      join(root, 'missing'),
      '\\\\server\\x\\y',
    ]) {
      const result = await run('true', model(path));
      expect(result.outcome).toBe('FAILED');
      expect(result.message).toContain('fileRoots');
    }
  });
});
