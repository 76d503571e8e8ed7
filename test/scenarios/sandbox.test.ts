/** Instances with a sandbox, with real programs: on whichever host and as whichever user the agent runs. */
import { chmodSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { hasSandbox } from '@workbench-hub/agent/fixtures/sandbox';
import { linux } from '@workbench-hub/agent/process/linux';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { eventually } from '../support/eventually.js';
import { base64, outputsOf, restClient } from '../support/interface/rest-client.js';
import { endPrograms, startAgent, startHub, startProgram } from '../support/programs/programs.js';
import { type TemporaryFolder, temporaryFolder } from '../support/temporary-folder.js';

let folder: TemporaryFolder;

beforeEach(async () => {
  folder = await temporaryFolder();
});

afterEach(async () => {
  await endPrograms();
  await folder.remove();
});

const SH = ['workbench-runner', '--interpreter', 'sh'];

/** Runs the rest of a command line in a user namespace, with the agent's rights over its files. */
const AS_ORDINARY_USER = ['unshare', '--user', '--map-user=1000', '--map-group=1000'];
const WITHOUT_NAME_SPACES = [
  ...['unshare', '--user', '--map-root-user', 'sh', '-c'],
  ...['echo 0 > /proc/sys/user/max_user_namespaces; exec "$@"', 'sh'],
];

describe.skipIf(!(await hasSandbox()))('an agent whose instances have a sandbox', () => {
  it.each([
    ['as the user of the tests', []],
    ['as an ordinary user', AS_ORDINARY_USER],
  ])('runs their jobs %s, in a folder that only its owner may enter', async (_, by) => {
    const hub = await startHub(folder.path);
    const closed = join(folder.path, 'closed');
    mkdirSync(closed, { mode: 0o700 });
    startAgent(closed, hub, 'host', configuration(), { by });
    const client = restClient(hub.baseUrl);
    const script = base64(
      'id -u > uid; mkdir sub; echo x > sub/out; chmod 500 sub; ls /proc | grep -c "^[0-9]" > processes',
    );
    for (let job = 1; job <= 2; job++) {
      const result = await client.batchJobResult(
        await client.createBatchJob({ inputScripts: [{ content: script }] }),
      );
      expect(outputsOf(result)).toMatchObject({
        'sub/out': 'x\n',
        uid: by.length > 0 ? '1000\n' : `${process.getuid?.()}\n`,
      });
    }
    await eventually(() => readdirSync(join(closed, 'host', 'work')).length === 1);
  });

  it('simulates a mechanism in it', async () => {
    const hub = await startHub(folder.path);
    const command = ['workbench-mujoco'];
    startAgent(folder.path, hub, 'host', {
      instances: [{ id: 'mujoco', version: '3', command, sandbox: 'bubblewrap' }],
    });
    const client = restClient(hub.baseUrl);
    const read = (name: string) =>
      readFileSync(new URL(`../../deploy/quickstart/${name}`, import.meta.url), 'base64');
    for (let job = 1; job <= 2; job++) {
      const id = await client.createBatchJob({
        inputModel: { type: 'MJCF', content: read('slider-crank.xml') },
        inputScripts: [{ content: read('simulate.js') }],
        variablesToInject: [
          { key: 'crankSpeedRpm', value: '1500' },
          { key: 'simulatedSeconds', value: '1' },
        ],
      });
      const result = await client.batchJobResult(id);
      const log = await client.log(id);
      expect(result, `${result.message} ${log}`).toMatchObject({
        status: 'FINISHED',
        batchExecutionStatus: 'OK',
      });
      expect(Object.keys(outputsOf(result)).join(' ')).toContain('.csv');
    }
  });

  it('leaves nothing of a job when it is killed, and continues with a new one', async () => {
    const hub = await startHub(folder.path);
    const agent = startAgent(folder.path, hub, 'host', configuration());
    const client = restClient(hub.baseUrl);
    const script = `setsid env -i sh -c 'while :; do echo x >> late; done' > /dev/null 2>&1 &
until [ -s late ]; do sleep 0.01; done; echo begun; sleep 1000`;
    const id = await client.createBatchJob({ inputScripts: [{ content: base64(script) }] });
    await eventually(async () => (await client.log(id)).includes('begun'));
    const nodeId = readFileSync(join(folder.path, 'host', 'node-id'), 'utf8').trim();
    const { pids } = await linux.findByCookie(`${nodeId}/`);
    const [room = ''] = readdirSync(join(folder.path, 'host', 'work'));
    const late = join(folder.path, 'host', 'work', room, 'files', 'late');
    await agent.kill();
    expect(pids.length).toBeGreaterThan(0);
    await eventually(() => pids.every((pid) => linux.identify(pid) === undefined));
    expect(readFileSync(late).length).toBeGreaterThan(0);
    startAgent(folder.path, hub, 'host', configuration());
    await eventually(() => !readdirSync(join(folder.path, 'host', 'work')).includes(room));
  });

  it('reports in --check-config that the sandbox works', async () => {
    const check = checkConfig(configuration());
    expect(await check.ended).toBe(0);
    expect(check.printed[0]).toBe('The configuration is valid.');
    expect(check.printed[2]).toBe('sandbox of sim: works here');
    expect(check.printed[1]).toMatch(/^control groups: (?:each instance program gets one of its own|none: )/);
  });
});

describe('an agent whose sandbox does not work', () => {
  const env = () => {
    mkdirSync(join(folder.path, 'empty'));
    return { PATH: join(folder.path, 'empty') };
  };

  it.each([
    [
      'where bubblewrap is missing',
      [],
      env,
      /^sandbox of sim: the program bwrap is not in the PATH .*: install the package bubblewrap/,
    ],
    [
      'where there are no user namespaces',
      WITHOUT_NAME_SPACES,
      () => ({}),
      /^sandbox of sim: bwrap does not work here: .*; user namespaces are off: run "sysctl/,
    ],
  ])('refuses to start %s, and --check-config reports the same', async (_, by, environment, sentence) => {
    const given = environment();
    const check = checkConfig(configuration(), by, given);
    expect(await check.ended).toBe(2);
    expect(check.printed).toEqual([expect.stringMatching(sentence)]);
    const start = startProgram(
      'agent/bin/workbench-agent.js',
      ['--config', join(folder.path, 'agent.json')],
      folder.path,
      given,
      { by },
    );
    expect(await start.ended).toBe(2);
    expect(start.lines.at(-1)?.msg).toMatch(sentence);
  });
});

function configuration(): Record<string, unknown> {
  return { instances: [{ id: 'sim', version: '1', command: SH, sandbox: 'bubblewrap' }] };
}

function checkConfig(
  config: Record<string, unknown>,
  by: readonly string[] = [],
  env: NodeJS.ProcessEnv = {},
) {
  const file = join(folder.path, 'agent.json');
  writeFileSync(
    file,
    JSON.stringify({ id: 'host', token: 'a-token', dataDir: join(folder.path, 'data'), ...config }),
  );
  chmodSync(file, 0o600);
  return startProgram(
    'agent/bin/workbench-agent.js',
    ['--config', file, '--check-config'],
    folder.path,
    env,
    { by },
  );
}
