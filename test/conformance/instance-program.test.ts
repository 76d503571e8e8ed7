/** Requirements of packages/docs/instance-protocol.md for every instance program: those of the product, and the example in that
 *  page. */
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { RPC_ERROR } from '@workbench-hub/shared/instance-protocol/messages';
import {
  type JobFolder,
  type JobOfTest,
  layOutJob,
  type ProgramUnderTest,
  startProgram,
} from '@workbench-hub/shared/instance-protocol/program-under-test';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

const root = new URL('../../', import.meta.url);
const file = (name: string) => fileURLToPath(new URL(name, root));

/** A program, and scripts in its own language. */
interface Candidate {
  name: string;
  command: string[];
  prints: string;
  fails: string;
  waits: string;
  /** Prints the variable `load` of its environment and writes `sub/result.txt`. */
  works: string;
}

const SHELL_SCRIPTS = {
  prints: 'echo Größe; echo 😀',
  fails: 'echo before; exit 7',
  waits: 'echo waiting; sleep 1000',
  works: 'mkdir sub; echo "$load" | tee sub/result.txt',
};

const CANDIDATES: Candidate[] = [
  {
    name: 'workbench-runner',
    command: [process.execPath, file('packages/runner/bin/workbench-runner.js'), '--interpreter', 'sh'],
    ...SHELL_SCRIPTS,
  },
  {
    name: 'workbench-mujoco',
    command: [process.execPath, file('packages/workbench-mujoco/bin/workbench-mujoco.js')],
    prints: "println('Größe'); println('😀')",
    fails: "println('before'); process.exit(7)",
    waits: "println('waiting'); for (;;);",
    works: `const fs = require('fs'); fs.mkdirSync('sub');
      fs.writeFileSync('sub/result.txt', process.env.load + '\\n'); println(load)`,
  },
  {
    name: 'adapter.py',
    command: ['python3', file('packages/docs/examples/adapter.py'), 'sh'],
    ...SHELL_SCRIPTS,
  },
];

describe.each(CANDIDATES)('the instance program $name', ({ command, ...scripts }) => {
  let program: ProgramUnderTest;
  const folders: JobFolder[] = [];
  const layOut = async (job: JobOfTest) => {
    const folder = await layOutJob(job);
    folders.push(folder);
    return folder;
  };

  beforeEach(async () => {
    program = await startProgram(command);
  });
  afterEach(async () => {
    await program.signal('SIGKILL');
    for (const folder of folders.splice(0)) await folder.remove();
  });

  it('runs jobs one after the other, with their environment, and exits with 0 at shutdown', async () => {
    const folder = await layOut({
      scripts: [scripts.works, scripts.prints],
      variables: { load: '100' },
      environment: { load: '100' },
    });
    const params = { ...folder.params, requestId: 'build-4711' };
    expect(await program.host.executeBatchJob(params)).toMatchObject({ status: 'OK' });
    expect(program.printed()).toBe('100\nGröße\n😀\n');
    expect(await folder.read('sub/result.txt')).toBe('100\n');
    expect(await folder.names()).toEqual(['sub']);
    const next = await layOut({ scripts: [scripts.prints] });
    expect(await program.host.executeBatchJob(next.params)).toMatchObject({ status: 'OK' });
    expect(program.outputs.at(-1)).toMatchObject({ taskId: next.params.taskId, stream: 'stdout' });
    expect(await program.shutdown()).toBe(0);
  });

  it('names the failed script, runs no later one, and accepts the next job', async () => {
    const folder = await layOut({ scripts: [scripts.prints, scripts.fails, scripts.prints] });
    const result = await program.host.executeBatchJob(folder.params);
    expect(result).toMatchObject({
      status: 'ERROR',
      message: expect.stringMatching(/^script 2 .*exited with (code )?7/),
    });
    expect(program.printed()).toBe('Größe\n😀\nbefore\n');
    const next = await layOut({ scripts: [scripts.prints] });
    expect(await program.host.executeBatchJob(next.params)).toMatchObject({ status: 'OK' });
  });

  it('cancels a job, refuses a second one meanwhile, and accepts the next', async () => {
    const folder = await layOut({ scripts: [scripts.waits, scripts.prints] });
    const running = program.host.executeBatchJob(folder.params);
    running.catch(() => undefined);
    await program.prints('waiting');
    await expect(program.host.simulateWork({ taskId: 'other', durationMs: 0 })).rejects.toMatchObject({
      code: RPC_ERROR.INVALID_REQUEST,
    });
    await program.host.cancel('another task');
    await program.host.cancel(folder.params.taskId);
    await expect(running).rejects.toMatchObject({ code: RPC_ERROR.CANCELED });
    expect(program.printed()).toBe('waiting\n');
    await program.host.simulateWork({ taskId: 'other', durationMs: 1 });
  });

  it('cancels simulated work', async () => {
    const working = program.host.simulateWork({ taskId: 'long', durationMs: 30 * 24 * 3600 * 1000 });
    working.catch(() => undefined);
    await program.host.cancel('long');
    await expect(working).rejects.toMatchObject({ code: RPC_ERROR.CANCELED });
  });

  it('ends its job and exits when standard input ends', async () => {
    const folder = await layOut({ scripts: [scripts.waits] });
    const running = program.host.executeBatchJob(folder.params);
    running.catch(() => undefined);
    await program.prints('waiting');
    expect(await program.hangUp()).toBe(0);
  });

  it('fails a job with a missing working directory, and accepts the next', async () => {
    const folder = await layOut({ scripts: [scripts.prints] });
    const gone = { ...folder.params, workingDirectory: folder.path('gone') };
    await expect(program.host.executeBatchJob(gone)).rejects.toMatchObject({
      code: expect.toSatisfy((code: number) => code === RPC_ERROR.JOB_FAILED || code === RPC_ERROR.INTERNAL),
    });
    expect(await program.host.executeBatchJob(folder.params)).toMatchObject({ status: 'OK' });
  });
});

it.each(CANDIDATES.filter(({ waits }) => waits === SHELL_SCRIPTS.waits))(
  '$name ends a job whose script leaves a program that holds its output',
  async ({ command, prints }) => {
    const program = await startProgram(command);
    const folder = await layOutJob({ scripts: ['sleep 1000 &', prints] });
    try {
      expect(await program.host.executeBatchJob(folder.params)).toMatchObject({ status: 'OK' });
      expect(program.printed()).toBe('Größe\n😀\n');
    } finally {
      await program.signal('SIGKILL');
      await folder.remove();
    }
  },
);

describe('the document', () => {
  const read = (name: string) => readFile(new URL(`packages/docs/${name}`, root), 'utf8');

  it('contains the example adapter unchanged', async () => {
    const adapter = await read('examples/adapter.py');
    expect(await read('instance-protocol.md')).toContain(`\n\`\`\`python\n${adapter}\`\`\`\n`);
    expect(adapter.split('\n').length - 1).toBeLessThan(60);
  });

  it('contains the script for CalculiX unchanged', async () => {
    expect(await read('calculix.md')).toContain(`\n\`\`\`sh\n${await read('examples/calculix.sh')}\`\`\`\n`);
  });

  it('names every error code and every method', async () => {
    const text = await read('instance-protocol.md');
    for (const code of Object.values(RPC_ERROR)) expect(text).toContain(`| ${code} |`);
    for (const method of ['initialize', 'executeBatchJob', 'simulateWork', 'output', 'cancel', 'shutdown']) {
      expect(text).toContain(`\n### ${method}\n`);
    }
  });
});
