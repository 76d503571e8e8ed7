/** The agent as a service of Windows (Wine), by the commands of installing.md; `npm run test:windows` runs these tests. */
import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { windowsHost } from './windows-host.js';

const host = windowsHost();

/** Starts a Windows that runs commands of sh one after the other; returns the function that runs one and gives what it printed. */
function openShell(): (command: string) => Promise<string> {
  // Windows ends its service manager when nothing else runs.
  host.session(`sleep 3600 | wine cmd > cmd.txt 2>&1 &
number=1
while :; do
  until [ -e "$number.sh" ]; do sleep 0.05; done
  . "./$number.sh" > "$number.txt" 2>&1
  echo "exit $?" >> "$number.txt"
  touch "$number.done"
  number=$((number + 1))
done`);
  let number = 0;
  return async (command) => {
    number++;
    const at = (ending: string) => join(host.folder, `${number}.${ending}`);
    // Whole at once: the shell looks for it all the time.
    writeFileSync(at('new'), `${command}\n`);
    renameSync(at('new'), at('sh'));
    await expect.poll(() => existsSync(at('done')), { timeout: 60_000 }).toBe(true);
    return readFileSync(at('txt'), 'utf8');
  };
}

it('is installed, runs jobs, drains when it is stopped, and is removed', async () => {
  host.configure({ drainTimeout: '60s' });
  const run = openShell();
  expect(await run('agent service status')).toMatch(/Service workbench-agent is not installed\.\s+exit 3/);
  expect(await run('agent service start')).toMatch(/it is not installed: .* install --config FILE\s+exit 2/);

  const installed = await run('agent --config agent.yaml service install');
  expect(installed).toMatch(
    /is installed and starts with the system; it runs as NT SERVICE\\workbench-agent/,
  );
  expect(installed).toMatch(/exit 0/);
  expect(await run('agent --config agent.yaml service install')).toMatch(
    /there is a service of this name: .*\s+exit 2/,
  );
  expect(await run('agent service status')).toMatch(/is stopped; its account is NT SERVICE.*\s+exit 3/);

  expect(await run('agent service start')).toMatch(/Service workbench-agent runs \(process \d+\)\.\s+exit 0/);
  await host.ready();
  expect(await run('agent service status')).toMatch(/is running \(process \d+\).*\s+exit 0/);
  const id = await host.createJob(
    'node',
    `const { existsSync, writeFileSync } = require('node:fs');
writeFileSync('Z:${join(host.folder, 'begun')}', 'x');
setInterval(() => { if (existsSync('Z:${join(host.folder, 'go')}')) process.exit(); }, 50);`,
  );
  await expect.poll(() => existsSync(join(host.folder, 'begun'))).toBe(true);

  const stopped = run('agent service stop');
  await expect.poll(() => host.agentLog('data/logs/agent.log')).toContain('its launcher stops it');
  writeFileSync(join(host.folder, 'go'), '');
  expect(await stopped).toMatch(/Service workbench-agent has stopped\.\s+exit 0/);
  expect(await host.client().batchJobResult(id)).toMatchObject({ batchExecutionStatus: 'OK' });

  expect(await run('agent service uninstall')).toMatch(
    /is removed; configuration and data folder stay.*\s+exit 0/,
  );
  expect(await run('agent service status')).toMatch(/is not installed/);
  expect(existsSync(join(host.folder, 'data'))).toBe(true);
});

it('tells the exit code of an agent that cannot start', async () => {
  host.configure();
  const run = openShell();
  await run('agent --config agent.yaml service install --name second');
  writeFileSync(join(host.folder, 'agent.yaml'), 'noSuchKey: 1');
  await run('agent service start --name second');
  await expect.poll(() => run('agent service status --name second')).toMatch(/is stopped with exit code 2/);
  expect(await run('agent service uninstall --name second')).toMatch(/exit 0/);
});

it('is refused to people who start it by hand', async () => {
  host.configure();
  const run = openShell();
  expect(await run('agent --config agent.yaml --service workbench-agent')).toMatch(
    /is for the service manager of Windows .*\s+exit 1/,
  );
});
