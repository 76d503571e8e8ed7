/** The agent as one file on Windows (Wine), with a hub on Linux; `npm run test:windows` runs these tests. */
import { randomUUID } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { base64, outputsOf } from '../support/interface/rest-client.js';
import { agent, kills, windowsHost } from './windows-host.js';

/** A start of Wine with the agent, its kill, and the end of Wine take 4 s on two idle cores. */
const KILL_LIMIT_MS = 20_000;

/** A folder whose paths are longer than MAX_PATH. */
const DEEP = Array.from({ length: 8 }, (_, index) => `${index}`.repeat(40)).join('/');

const host = windowsHost();
const { client, configure, session, startAgent, agentLog, ready, createJob } = host;

/** Ids of the processes with a word in their command lines, among all of this machine. */
function processesWith(...words: readonly string[]): number[] {
  return readdirSync('/proc').flatMap((name) => {
    if (!/^\d+$/.test(name)) return [];
    try {
      const line = readFileSync(join('/proc', name, 'cmdline'), 'latin1');
      return words.every((word) => line.includes(word)) && !line.startsWith('env') ? [Number(name)] : [];
    } catch {
      return []; // it has ended
    }
  });
}

/** A script that starts a process apart from itself, which has the mark in its command line, and then does more. */
function leaves(mark: string, then: string): string {
  return `const { spawn } = require('node:child_process');
const { writeFileSync } = require('node:fs');
writeFileSync('stray.cjs', 'setInterval(() => undefined, 1000)');
const stray = spawn(process.execPath, ['stray.cjs', '${mark}'], { detached: true, stdio: 'ignore' });
stray.unref();
stray.once('spawn', () => { ${then} });`;
}

describe('the agent as one file on Windows', () => {
  it('says its version, finds no fault in its host, and runs scripts with files', async () => {
    configure();
    const checks = session(
      'agent --version > version.txt 2>&1; agent doctor --config agent.yaml > doctor.txt 2>&1; agent --config agent.yaml >> agent.log 2>&1',
    );
    void checks;
    await ready();
    expect(readFileSync(join(host.folder, 'version.txt'), 'utf8')).toMatch(/^\d+\.\d+\.\d+\r?\n$/m);
    const found = readFileSync(join(host.folder, 'doctor.txt'), 'utf8');
    expect(found).toMatch(/job objects: each instance program gets one of its own/);
    expect(found).toMatch(
      /start of node, batch: workbench-runner .* has started|start of node: workbench-runner/,
    );
    expect(agentLog()).toContain('each instance program has its own job object');

    const script = `const { readFileSync, mkdirSync, writeFileSync } = require('node:fs');
const input = readFileSync('${DEEP}/in.txt', 'utf8');
mkdirSync('out', { recursive: true });
writeFileSync('out/ergebnis-ä.txt', input.toUpperCase() + load);
console.log('Grüße from ' + process.platform);`;
    const id = await createJob('node', script, {
      variablesToInject: [{ key: 'load', value: '42' }],
      additionalFiles: [{ filename: `${DEEP}/in.txt`, content: base64('steel ') }],
    });
    const result = await client().batchJobResult(id);
    expect(result, await client().log(id)).toMatchObject({ batchExecutionStatus: 'OK' });
    expect(outputsOf(result)).toEqual({ 'out/ergebnis-ä.txt': 'STEEL 42' });
    expect(await client().log(id)).toContain('Grüße from win32');
  });

  it('runs batch files by their names, and shows what they print', async () => {
    configure();
    startAgent();
    await ready();
    const batch = (name: string, script: Buffer, label = 'node') =>
      client().createBatchJob({
        classifiers: [{ type: 'LABLES', value: label }],
        inputScripts: [{ filename: name, content: script.toString('base64') }],
      });
    // Ends of lines of Linux, which cmd reads wrongly, and a letter in its code page.
    const lines = [
      '@echo off',
      'goto :there',
      'echo never',
      ':there',
      'echo in %CD%> where.txt',
      'echo done',
      'exit /b 3',
    ];
    const id = await batch('run.bat', Buffer.from(lines.join('\n')));
    const result = await client().batchJobResult(id);
    expect(result, await client().log(id)).toMatchObject({ batchExecutionStatus: 'ERROR' });
    expect(outputsOf(result)['where.txt']).toMatch(/^in [A-Z]:.*\r\n$/);
    expect(await client().log(id)).toBe('done\n');
    expect(JSON.stringify(result)).toContain('script 1 of 1 exited with code 3');

    const printed = "process.stdout.write(Buffer.from('Gr\\u00fc\\u00dfe\\r\\n', 'utf16le'));";
    const utf16 = await batch('print.js', Buffer.from(printed));
    await client().batchJobResult(utf16);
    expect(await client().log(utf16)).toBe('Grüße\n');
  });

  it('removes what a job left read-only, and fails a job whose files Windows cannot have', async () => {
    configure();
    startAgent();
    await ready();
    const script = `const { chmodSync, writeFileSync } = require('node:fs');
writeFileSync('locked.txt', 'x');
chmodSync('locked.txt', 0o444);`;
    const id = await createJob('node', script);
    const result = await client().batchJobResult(id);
    expect(outputsOf(result)).toEqual({ 'locked.txt': 'x' });
    await expect.poll(() => readdirSync(join(host.folder, 'data/work'))).toEqual([]);
    for (const filename of ['a/CON.txt', 'a/b:c', 'a/name.']) {
      const refused = await createJob('node', 'console.log(1);', {
        additionalFiles: [{ filename, content: base64('x') }],
      });
      const { status, message } = await client().batchJobResult(refused);
      expect([status, message]).toEqual(['FAILED', expect.stringContaining(filename)]);
    }
    const clash = await createJob('node', 'console.log(1);', {
      additionalFiles: ['Mesh.inp', 'mesh.inp'].map((filename) => ({ filename, content: base64(filename) })),
    });
    expect(await client().batchJobResult(clash)).toMatchObject({ status: 'FAILED' });
  });

  it('has its data folder on a network share', async () => {
    const dataDir = '\\\\server\\share\\data';
    configure({ dataDir });
    // Wine takes the name of a share from this folder.
    session(`mkdir -p "$WINEPREFIX/dosdevices/unc/server"
ln -s ${host.folder} "$WINEPREFIX/dosdevices/unc/server/share"
agent --config agent.yaml >> agent.log 2>&1`);
    await ready();
    expect(agentLog()).toContain(`"dataDir":${JSON.stringify(dataDir)}`);
    expect(agentLog()).toContain('each instance program has its own job object');
    const script = `const { readFileSync, writeFileSync } = require('node:fs');
writeFileSync('out.txt', readFileSync('${DEEP}/in.txt', 'utf8').toUpperCase());`;
    const id = await createJob('node', script, {
      additionalFiles: [{ filename: `${DEEP}/in.txt`, content: base64('steel ') }],
    });
    const result = await client().batchJobResult(id);
    expect(outputsOf(result), await client().log(id)).toEqual({ 'out.txt': 'STEEL ' });
    await expect.poll(() => readdirSync(join(host.folder, 'data/work'))).toEqual([]);
  });

  it('ends what a job left behind, whether it ended, or was canceled', async () => {
    configure();
    startAgent();
    await ready();
    const [left, canceled] = [randomUUID(), randomUUID()];
    const first = await createJob('node', leaves(left, "writeFileSync('done.txt', 'x');"));
    expect(await client().batchJobResult(first)).toMatchObject({ batchExecutionStatus: 'OK' });
    await expect.poll(() => processesWith(left)).toEqual([]);

    const second = await createJob('node', leaves(canceled, 'setInterval(() => undefined, 1000);'));
    await expect.poll(() => processesWith(canceled).length).toBeGreaterThan(0);
    await client().cancel(second, true);
    expect(await client().batchJobResult(second)).toMatchObject({ status: 'CANCELED' });
    await expect.poll(() => processesWith(canceled)).toEqual([]);
    expect(agentLog()).toContain('ended orphans of a task');
  });

  it('leaves no process behind when it is killed, and its jobs run again', {
    timeout: 180_000 + kills * KILL_LIMIT_MS,
  }, async () => {
    configure();
    const go = join(host.folder, 'go');
    const mark = randomUUID();
    const id = await createJob(
      'node',
      leaves(
        mark,
        `const { existsSync } = require('node:fs');
setInterval(() => { if (existsSync('Z:${go}')) { writeFileSync('done.txt', 'x'); process.exit(); } }, 50);`,
      ),
    );
    // The folder tells it from agents of other tests.
    const config = `Z:${host.folder}/agent.yaml`;
    for (let kill = 1; kill <= kills; kill++) {
      // The servers of Wine outlive an agent that was killed.
      const running = session(`agent --config ${config} >> agent.log 2>&1; sleep 1000`);
      await expect.poll(() => processesWith(mark).length, { timeout: 60_000 }).toBeGreaterThan(0);
      const [pid] = processesWith(basename(agent), config);
      if (pid === undefined) throw new Error('the agent has no process');
      process.kill(pid, 'SIGKILL');
      await expect.poll(() => [...processesWith(mark), ...processesWith(config)]).toEqual([]);
      await running.kill();
    }
    writeFileSync(go, '');
    startAgent();
    expect(await client().batchJobResult(id)).toMatchObject({ batchExecutionStatus: 'OK' });
    await expect.poll(() => processesWith(mark)).toEqual([]);
    expect(existsSync(join(host.folder, 'data'))).toBe(true);
  });

  it('is refused a second time on the same data folder, and starts after the first one has ended by force', async () => {
    configure();
    mkdirSync(join(host.folder, 'data'), { recursive: true });
    const both = session(
      'agent --config agent.yaml >> agent.log 2>&1 & until grep -q "agent started" agent.log; do sleep 0.1; done; agent --config agent.yaml > second.txt 2>&1; echo "exit $?" >> second.txt; wait',
    );
    void both;
    await expect
      .poll(
        () =>
          existsSync(join(host.folder, 'second.txt'))
            ? readFileSync(join(host.folder, 'second.txt'), 'utf8')
            : '',
        { timeout: 60_000 },
      )
      .toMatch(/exit \d+/);
    const second = readFileSync(join(host.folder, 'second.txt'), 'utf8');
    expect(second).toContain('is in use by another agent');
    expect(second).toContain('exit 2');
  });
});
