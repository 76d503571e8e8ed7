import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';

/** Runs fixtures/service-program.mjs, and signals it as often as it says that it is ready for one. */
async function run(behavior: string, signal: NodeJS.Signals = 'SIGTERM') {
  const program = fileURLToPath(new URL('fixtures/service-program.mjs', import.meta.url));
  const child = spawn(process.execPath, [program, behavior], { stdio: ['ignore', 'pipe', 'inherit'] });
  let output = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    output += text;
    for (const line of text.split('\n')) {
      if (line.includes('"signal me"')) child.kill(signal);
      if (line.includes('"stop me"') || line.includes('nothing to reload')) child.kill('SIGTERM');
    }
  });
  const [code] = (await once(child, 'close')) as [number | null];
  return { code, output };
}

describe('a program', () => {
  it.each(['SIGTERM', 'SIGINT'] as const)('stops its service on %s and exits with 0', async (signal) => {
    const { code, output } = await run('in-order', signal);
    expect(code).toBe(0);
    expect(output).toContain('service stopped');
  });

  it('calls its reload on SIGHUP, and continues when that fails', async () => {
    const { code, output } = await run('reloads', 'SIGHUP');
    expect(code).toBe(0);
    expect(output).toContain('the new settings are wrong');
    expect(output.match(/"the reload failed"/g)).toHaveLength(1);
    expect(output).toContain('service stopped');
  });

  it('is not ended by SIGHUP when it has nothing to reload', async () => {
    const { code, output } = await run('in-order', 'SIGHUP');
    expect(code).toBe(0);
    expect(output).toContain('there is nothing to reload');
  });

  it('exits with 2 and the reason alone when its start is refused', async () => {
    const { code, output } = await run('refused');
    expect(code).toBe(2);
    expect(output).toContain('"msg":"the data directory is in use"');
    expect(output).not.toContain('"stack"');
  });

  it('exits with 2 and what to do when the disk is full at its start', async () => {
    const { code, output } = await run('finds-disk-full');
    expect(code).toBe(2);
    expect(output).toContain('"msg":"dataDir: the disk is full (ENOSPC); make room there"');
    expect(output).not.toContain('"stack"');
  });

  it('exits with 2 and the error of the system when its start fails for another reason', async () => {
    const { code, output } = await run('meets-directory');
    expect(code).toBe(2);
    expect(output).toContain('"msg":"the start failed: EISDIR: illegal operation on a directory, read"');
    expect(output).not.toContain('"stack"');
  });

  it('exits with 2 and the stack when its start fails by a defect', async () => {
    const { code, output } = await run('start-fails');
    expect(code).toBe(2);
    expect(output).toContain('"stack"');
  });

  it('exits with 1 and the reason alone when it has to be started again', async () => {
    const { code, output } = await run('needs-restart');
    expect(code).toBe(1);
    expect(output).toContain('"msg":"the database has lost changes; restart the hub"');
    expect(output).not.toMatch(/"stack"|defect/);
  });

  it('exits at once on a second signal', async () => {
    const { code, output } = await run('stops-never');
    expect(code).toBe(1);
    expect(output).toContain('second signal');
  });

  it('logs an uncaught error and exits with 1', async () => {
    const { code, output } = await run('throws-later');
    expect(code).toBe(1);
    expect(output).toContain('nobody expected this');
  });
});
