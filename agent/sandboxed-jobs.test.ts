/** Jobs in a sandbox, through a whole agent without control groups: what scripts get, what they cannot reach, and what is
 *  left of them. */
import { mkdir, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
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
import { hasSandbox } from './fixtures/sandbox.js';
import { linux } from './process/linux.js';

agentForEachTest();
const canShutIn = await hasSandbox();

const RUNNER = [
  process.execPath,
  fileURLToPath(new URL('../packages/runner/bin/workbench-runner.js', import.meta.url)),
  ...['--interpreter', 'sh'],
];

interface Options {
  readonly sandbox?: unknown;
  readonly program?: string;
  readonly instance?: object;
}

/** The sandbox alone, without control groups. */
async function startShutIn({
  sandbox = 'bubblewrap',
  instance = {},
  ...keys
}: Options & Record<string, unknown> = {}) {
  const overrides = { withoutControlGroups: true };
  await startReadyAgent({ ...keys, overrides, instance: { sandbox, ...instance } });
}

/** Runs a job when the instance is up; there is another program for each. */
async function runNext(...job: Parameters<typeof run>) {
  await hub.instanceBecomes(
    SIM,
    'UP',
    hub.received.findLastIndex(({ type }) => type === 'instance' || type === 'hello'),
  );
  return run(...job);
}

const ownProcesses = async () => {
  const nodeId = (await readFile(join(directory, 'data', 'node-id'), 'utf8')).trim();
  return (await linux.findByCookie(`${nodeId}/`)).pids;
};

/** Kills a process, unless it has ended: with the first one of a sandbox, all others end. */
function killIfThere(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}

describe.skipIf(!canShutIn)('in a sandbox', () => {
  test.each([
    ['the runner', { command: RUNNER }],
    ['another program', {}],
  ])(
    'jobs of %s get their files and variables, and give back what is new or changed',
    async (_, instance) => {
      await mkdir(join(directory, 'models'));
      await writeFile(join(directory, 'models', 'gear.wbpz'), 'gears');
      await startShutIn({ instance, fileRoots: [join(directory, 'models')] });
      const script = [
        'cat data/in.txt > out.txt; echo more >> changed.txt; mkdir -p a/b; printf x > a/b/c.txt; rm data/in.txt',
        'printf %s "$WIDTH" > width; cp "$WORKBENCH_VARIABLES" vars.json; cat "$WORKBENCH_MODEL" > model-copy',
        'echo changed > "$WORKBENCH_VARIABLES"; printf movie > "$WORKBENCH_OUTPUT_STORAGE/movie.bin"',
        'echo private > "$HOME/note"; echo temporary > "$TMPDIR/note"; id -u > uid; node --version > node',
        'mkdir closed; echo x > closed/in; chmod 0 closed; echo hello; echo trouble >&2',
      ].join('\n');
      const additionalFiles = [
        { path: 'data/in.txt', ...hub.store('input') },
        { path: 'changed.txt', ...hub.store('begin\n') },
      ];
      const variables = [{ key: 'WIDTH', value: '12.5' }];
      const model = {
        kind: 'LOCAL_FILESYSTEM' as const,
        pathToFile: join(directory, 'models/gear.wbpz'),
        copyToWorkingDirectory: false,
      };
      // Each job finds everything as the first one did.
      for (let job = 1; job <= 2; job++) {
        const result = await runNext(script, { additionalFiles, variables, model });
        expect(result).toMatchObject({ outcome: 'OK', message: null });
        const { 'closed/in': _closed, ...outputs } = result.outputs;
        expect(outputs).toEqual({
          'a/b/c.txt': 'x',
          'changed.txt': 'begin\nmore\n',
          'model-copy': 'gears',
          'out.txt': 'input',
          'vars.json': JSON.stringify({ WIDTH: '12.5' }),
          width: '12.5',
          uid: `${process.getuid?.()}\n`,
          node: `${process.version}\n`,
        });
        expect(result.storedFiles?.map(({ path }) => path)).toEqual(['movie.bin']);
        expect(result.logText).toContain('hello\n');
        expect(result.logText).toContain('trouble\n');
      }
      // One is there for the next job.
      await expect.poll(() => readdir(join(directory, 'data', 'work'))).toHaveLength(1);
    },
  );

  test('a job whose prepared directory is gone is returned, and the next one runs in a new one', async () => {
    await startShutIn();
    await hub.instanceBecomes(SIM, 'UP');
    const work = join(directory, 'data', 'work');
    for (const name of await readdir(work)) await rm(join(work, name), { recursive: true });
    expect(await run('echo 1')).toMatchObject({ outcome: 'RETURNED' });
    expect(await runNext('echo x > out')).toMatchObject({ outcome: 'OK', outputs: { out: 'x\n' } });
  });

  test('a job keeps its checkpoint when it is returned, and the next one finds it', async () => {
    await startShutIn();
    const ref = newRef();
    hub.assign(ref, batchJob('echo 1200 > "$WORKBENCH_CHECKPOINT/step"; echo begun; sleep 600'));
    await hub.receives('output', ({ text }) => text.includes('begun'));
    await stopAgent();
    const { outcome, checkpoint } = await hub.ended(ref);
    expect([outcome, checkpoint?.map(({ path }) => path)]).toEqual(['RETURNED', ['step']]);
    const seen = hub.received.length;
    await startShutIn();
    await hub.instanceBecomes(SIM, 'UP', seen);
    const next = newRef();
    hub.assign(next, batchJob('cat "$WORKBENCH_CHECKPOINT/step" > out'), null, checkpoint);
    const [output] = (await hub.ended(next)).outputFiles;
    expect(hub.contents.get(output?.digest ?? '')?.toString()).toBe('1200\n');
  });

  test('a program that dies between two jobs is a crash of neither', async () => {
    await startShutIn();
    const seen = hub.received.length;
    expect((await run('true')).outcome).toBe('OK');
    await hub.instanceBecomes(SIM, 'UP', seen);
    for (const pid of await ownProcesses()) killIfThere(pid);
    await expect.poll(() => logLines.join('')).toContain('was ended by SIGKILL');
    const request = { kind: 'instanceCrashes', instanceId: SIM } as const;
    hub.send({ type: 'request', requestId: 'crashes', request });
    const { crashes } = await hub.receives('reply', ({ requestId }) => requestId === 'crashes');
    expect(crashes?.latest.map(({ taskId }) => taskId)).toEqual([null]);
  });

  test('a script sees and changes nothing of the agent, of other jobs or of the host', async () => {
    await mkdir(join(directory, 'elsewhere'));
    await writeFile(join(directory, 'elsewhere', 'file'), 'of somebody else');
    await startShutIn({ keepWorkingDirectories: 'always', fileRoots: [directory] });
    const { outputs: first } = await runNext('echo secret > mine; pwd > where');
    await writeFile(join(directory, 'data', 'credential'), 'the credential');
    const other = first['where']?.trim();
    expect(other).toContain('/data/work/');
    const script = [
      `exec 2>> faults; D=${directory}`,
      'cat "$D/data/credential" "$D/data/node-id" "$D/data/spool/journal.jsonl" && echo credential read >> broken',
      'ls "$D/data" > data; ls "$D/data/work" > work; ls -a /etc/workbench-agent && echo configuration read >> broken',
      `cat ${other}/mine && echo other job read >> broken; ls "$D/data/work"/*/files > /dev/null`,
      'echo x > "$D/elsewhere/file" && echo readable folder written >> broken',
      'echo x > /usr/bin/workbench-test && echo system written >> broken; echo x > /etc/passwd && echo passwd written >> broken',
      'v=$(cat /proc/sys/kernel/core_pattern); printf %s "$v" > /proc/sys/kernel/core_pattern && echo kernel set >> broken',
      'mv ../files ../away && echo directory moved >> broken; ln -s /etc ../link && echo linked beside >> broken',
      'rmdir "$WORKBENCH_OUTPUT_STORAGE" && ln -s "$D" "$WORKBENCH_OUTPUT_STORAGE" && echo output storage replaced >> broken',
      'cat /etc/shadow && echo shadow read >> broken; ls /root /home && echo homes seen >> broken',
      `kill -0 ${process.pid} && echo agent signaled >> broken; ls /proc | grep -c '^[0-9]' > processes`,
      `tr '\\0' '\\n' < /proc/1/environ; unshare -U true && echo namespace made >> broken; env | sort > environment`,
      `sed -n 's/^CapEff:[[:space:]]*//p' /proc/self/status > capabilities`,
    ].join('\n');
    const { outputs, outcome } = await runNext(script);
    expect(outcome).toBe('OK');
    expect(outputs['broken']).toBeUndefined();
    expect(outputs['data']).toBe('work\n');
    expect(outputs['work']?.split('\n')).toHaveLength(2);
    expect(Number(outputs['processes'])).toBeLessThan(8);
    expect(outputs['environment']).not.toContain('VITEST');
    expect(outputs['capabilities']).toBe(`${'0'.repeat(16)}\n`);
  });

  test('a script that replaces folders by links gains nothing', async () => {
    await mkdir(join(directory, 'elsewhere'));
    await writeFile(join(directory, 'elsewhere', 'file'), 'of somebody else');
    await startShutIn();
    const script = [
      `cd ..; for each in files output-storage given; do rm -rf "$each"; ln -s ${join(directory, 'elsewhere')} "$each"; done`,
      `cd files; mkdir sub; rm -rf sub; ln -s ${join(directory, 'elsewhere')} sub; echo done > out`,
    ].join('\n');
    const { outputs, storedFiles } = await runNext(script);
    expect(outputs).toEqual({ out: 'done\n' });
    expect(storedFiles ?? []).toEqual([]);
    expect(await readdir(join(directory, 'elsewhere'))).toEqual(['file']);
  });

  test('a daemon that hides ends with its job, before anything is collected', async () => {
    await startShutIn();
    const daemon = `setsid env -i PATH="$PATH" sh -c 'while :; do echo x >> late; rm -f swap; ln -s /etc swap; done' > /dev/null 2>&1 &
until [ -s late ]; do sleep 0.01; done`;
    for (const script of [daemon, `${daemon}; exit 1`, `${daemon}\nsleep 0.2`]) {
      const ids = new Set(await ownProcesses());
      expect(ids.size).toBeGreaterThan(0);
      const { outputs } = await runNext(script);
      expect(outputs['late']).toMatch(/^(?:x\n)+$/);
      for (const pid of ids) expect(linux.identify(pid)).toBeUndefined();
    }
  });

  test('scripts reach no network, unless it is allowed', async () => {
    const port = new URL(hub.address).port;
    const connect = `node -e 'require("net").connect(${port}, "127.0.0.1").on("connect", () => { console.log("connected"); process.exit() }).on("error", (e) => console.log(e.code))' > out`;
    await startShutIn();
    expect((await runNext(connect)).outputs).toEqual({ out: 'ECONNREFUSED\n' });
    await stopAgent();
    await startShutIn({ sandbox: { kind: 'bubblewrap', network: true } });
    expect((await runNext(connect)).outputs).toEqual({ out: 'connected\n' });
  });

  test('folders by list may be read, also behind a link and beside what is hidden', async () => {
    const solver = join(directory, 'solver');
    await mkdir(join(solver, 'bin'), { recursive: true });
    await writeFile(join(solver, 'bin', 'solve'), '#!/bin/sh\necho solved\n', { mode: 0o755 });
    await symlink(solver, join(directory, 'solver-link'));
    await startShutIn({
      sandbox: { kind: 'bubblewrap', readOnly: [solver] },
      fileRoots: [join(directory, 'solver-link')],
    });
    const script = `${solver}/bin/solve > out; ${directory}/solver-link/bin/solve >> out; echo x > ${solver}/bin/solve || echo kept >> out`;
    expect((await runNext(script)).outputs).toEqual({ out: 'solved\nsolved\nkept\n' });
  });

  test('a script has only devices that do no harm', async () => {
    await startShutIn({ sandbox: { kind: 'bubblewrap', gpus: true } });
    const { outputs } = await runNext(
      'ls /dev > devices; echo x > /dev/null; head -c 4 /dev/urandom | wc -c > bytes',
    );
    const devices = outputs['devices']?.trim().split('\n') ?? [];
    const harmless = [
      'core',
      'fd',
      'full',
      'null',
      'ptmx',
      'pts',
      'random',
      'shm',
      'stderr',
      'stdin',
      'stdout',
      'tty',
      'urandom',
      'zero',
      'console',
    ];
    expect(devices.filter((name) => !harmless.includes(name) && !/^(nvidia.*|dri|kfd)$/.test(name))).toEqual(
      [],
    );
    expect(outputs['bytes']?.trim()).toBe('4');
  });

  test('a directory that is kept for inspection has the name of its attempt', async () => {
    await startShutIn({ keepWorkingDirectories: 'failed' });
    const { ref } = await runNext('echo bad > out; exit 1');
    await runNext('echo good > out');
    const kept = join(directory, 'data/work', `${ref.taskId}-1`);
    expect(await readFile(join(kept, 'files/out'), 'utf8')).toBe('bad\n');
    await expect.poll(() => readdir(join(directory, 'data', 'work'))).toHaveLength(2);
  });

  test('work that is only simulated leaves the program in its place', async () => {
    await startShutIn();
    const before = await ownProcesses();
    for (let job = 1; job <= 2; job++) {
      const ref = newRef();
      hub.assign(ref, { type: 'SIMULATE_WORK', durationS: 1 });
      expect(await hub.ended(ref)).toMatchObject({ outcome: 'OK' });
    }
    expect(await ownProcesses()).toEqual(before);
  });

  test('the agent logs it once, and not with each job', async () => {
    await startShutIn();
    await runNext('true');
    await runNext('true');
    const lines = logLines.map((line) => JSON.parse(line) as { level: number; msg: string });
    expect(lines.filter(({ level, msg }) => level >= 30 && msg.startsWith('up: '))).toHaveLength(1);
    expect(lines.filter(({ level }) => level > 30)).toEqual([]);
  });
});

describe.skipIf(!canShutIn)('the end of a sandbox', () => {
  const LASTING = `trap '' TERM; setsid env -i sh -c 'trap "" TERM; sleep 1000' > /dev/null 2>&1 & echo begun; sleep 1000`;

  async function begin(keys: Options & Record<string, unknown> = {}, timeLimitMs: number | null = null) {
    await startShutIn(keys);
    const pids = await ownProcesses();
    const ref = newRef();
    const seen = hub.received.length;
    hub.assign(ref, batchJob(LASTING), timeLimitMs);
    await hub.receives('output', ({ text }) => text.includes('begun'));
    const expectGone = () => {
      expect(pids.length).toBeGreaterThan(0);
      for (const pid of pids) expect(linux.identify(pid)).toBeUndefined();
    };
    return { ref, seen, expectGone };
  }

  test.each([
    ['a program that obeys', 'shell-workbench'],
    ['a program that ignores it', 'ignores-cancel'],
  ])('comes with a cancel, of %s', async (_, program) => {
    await startShutIn({ program, instance: { cancelTimeout: '100ms' } });
    const pids = await ownProcesses();
    const ref = newRef();
    const seen = hub.received.length;
    hub.assign(ref, batchJob(LASTING));
    await hub.receives('output');
    hub.send({ type: 'cancel', ref });
    expect(await hub.ended(ref)).toMatchObject({ outcome: 'CANCELED' });
    for (const pid of pids) expect(linux.identify(pid)).toBeUndefined();
    await hub.instanceBecomes(SIM, 'UP', seen);
  });

  test('comes with the time limit', async () => {
    const { ref, seen, expectGone } = await begin({}, 300);
    expect(await hub.ended(ref)).toMatchObject({
      outcome: 'FAILED',
      message: 'time limit of 0.3 s exceeded',
    });
    expectGone();
    await hub.instanceBecomes(SIM, 'UP', seen);
  });

  test.each(['stop', 'restart'] as const)('comes with the end of the job after a %s', async (command) => {
    await startShutIn();
    const ref = newRef();
    hub.assign(ref, batchJob('echo begun; sleep 0.3; echo done > out'));
    await hub.receives('output');
    const seen = hub.received.length;
    hub.send({
      type: 'request',
      requestId: '1',
      request: { kind: 'instanceCommand', instanceId: SIM, command },
    });
    expect(await hub.ended(ref)).toMatchObject({ outcome: 'OK', outputFiles: [{ path: 'out' }] });
    await hub.instanceBecomes(SIM, command === 'stop' ? 'DOWN' : 'UP', seen);
    const rooms = command === 'stop' ? 0 : 1;
    await expect.poll(() => readdir(join(directory, 'data', 'work'))).toHaveLength(rooms);
  });

  test.each([
    ['idle', 'shutdown', 'shell-workbench', '60s', /exited with code 0/],
    ['ignoring that', 'SIGKILL', 'ignores-shutdown', '50ms', /was ended by SIGKILL/],
  ])('comes with a stop of an instance that is %s, by %s', async (_, __, program, stopTimeout, end) => {
    await startShutIn({ program, instance: { stopTimeout } });
    const pids = await ownProcesses();
    hub.send({
      type: 'request',
      requestId: '1',
      request: { kind: 'instanceCommand', instanceId: SIM, command: 'stop' },
    });
    await hub.instanceBecomes(SIM, 'DOWN');
    for (const pid of pids) expect(linux.identify(pid)).toBeUndefined();
    expect(logLines.join('')).toMatch(end);
    await expect.poll(() => readdir(join(directory, 'data', 'work'))).toEqual([]);
  });

  test('comes with the death of the program, which loses its job', async () => {
    await startShutIn({ program: 'dies-at-work' });
    const pids = await ownProcesses();
    const seen = hub.received.length;
    const ref = newRef();
    hub.assign(ref, batchJob('true'));
    const { outcome, message } = await hub.ended(ref);
    expect(outcome).toBe('INSTANCE_LOST');
    expect(message).toContain(
      'was ended by SIGKILL; its last lines on standard error: segmentation fault in solver',
    );
    for (const pid of pids) expect(linux.identify(pid)).toBeUndefined();
    await hub.instanceBecomes(SIM, 'UP', seen);
  });

  test('comes with the stop of the agent, which returns the task', async () => {
    const { ref, expectGone } = await begin();
    await stopAgent();
    expect(await hub.ended(ref)).toMatchObject({ outcome: 'RETURNED' });
    expectGone();
    expect(await readdir(join(directory, 'data', 'work'))).toEqual([]);
  });
});

describe('an agent refuses to start', () => {
  test.skipIf(!canShutIn)('when a path that a sandbox is to show is missing', async () => {
    const sandbox = { kind: 'bubblewrap', readOnly: ['/opt/no-such-solver'] };
    await expect(startAgent({ instance: { sandbox } })).rejects.toThrow(
      /^sandbox of sim-1: bwrap does not work here: .*; correct "sandbox" of the instance: \/opt\/no-such-solver is not on this host$/,
    );
  });

  test('when nothing on this system keeps the limits of an instance', async () => {
    await expect(startAgent({ instance: { limits: { memory: '1GiB' } } })).rejects.toThrow(
      /^limits of sim-1: /,
    );
  });
});
