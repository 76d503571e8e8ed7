/** A backup of a running hub, and its restore on another machine. */
import { randomBytes } from 'node:crypto';
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { restore } from '@workbench-hub/hub/commands/backup/restore';
import { hubConfigSchema } from '@workbench-hub/hub/config';
import { systemRuntime } from '@workbench-hub/shared/runtime/system-runtime';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { FakeAgent } from '../support/agents/fake-agent.js';
import { eventually } from '../support/eventually.js';
import { Api, base64 } from '../support/interface/api.js';
import { endPrograms, type HubProgram, startHub } from '../support/programs/programs.js';
import { runCommand } from '../support/programs/run-command.js';
import { type TemporaryFolder, temporaryFolder } from '../support/temporary-folder.js';

// Each starts several programs.
let folder: TemporaryFolder;
let file: string;
beforeEach(async () => {
  folder = await temporaryFolder();
  file = join(folder.path, 'hub.tar');
  mkdirSync(at('one'));
  mkdirSync(at('two'));
});
afterEach(async () => {
  await endPrograms();
  await folder.remove();
});

const at = (...names: string[]) => join(folder.path, ...names);
const dataOf = (name: string) => at(name, 'hub');

/** Runs a command on the hub of a folder, which may have been started there or not. */
function command(name: string, ...words: string[]) {
  const config = at(name, 'command.yaml');
  writeFileSync(config, JSON.stringify({ dataDir: dataOf(name) }));
  return runCommand('hub/bin/workbench-hub.js', ['--config', config, ...words], { cwd: folder.path });
}

async function done(name: string, ...words: string[]): Promise<string> {
  const { code, stdout, stderr } = await command(name, ...words);
  expect(code, stdout + stderr).toBe(0);
  return stdout;
}

async function refused(name: string, ...words: string[]): Promise<string> {
  const { code, stderr } = await command(name, ...words);
  expect(code, stderr).toBe(2);
  return stderr;
}

const apiOf = (hub: HubProgram) => new Api({ address: hub.baseUrl });
const agentOf = (hub: HubProgram, name: string, setup = {}) =>
  FakeAgent.join(
    { address: hub.baseUrl, token: readFileSync(join(dataOf(name), 'agent-token'), 'utf8').trim() },
    setup,
  );

async function upload(api: Api, name: string, content: Buffer, encrypt: boolean): Promise<void> {
  const form = new FormData();
  form.append('file', new Blob([new Uint8Array(content)]), name);
  const { status } = await api.call('POST', `/api/2.0/storage/input/upload?encrypt=${encrypt}`, {
    raw: form as unknown as ReadableStream,
  });
  expect(status).toBe(204);
}

/** Ends a task with this output. */
async function finish(agent: FakeAgent, content: Buffer): Promise<void> {
  const { ref } = await agent.hear('assign');
  const output = await agent.upload(content);
  expect(await agent.end(ref, 'OK', { outputFiles: [{ path: 'out.bin', ...output }] })).toBe(true);
}

async function outputOf(api: Api, id: string): Promise<string> {
  const { body } = await api.get(`/api/2.0/workbench/task/execute-batch-job/${id}/result`);
  return (body['outputFiles'] as { content: string }[])[0]?.content ?? '';
}

const restoredHub = async (archive = file) => {
  await done('two', 'restore', archive);
  return startHub(at('two'));
};

describe('a backup of a running hub', () => {
  it.each(['hub.tar', 'hub.tgz'])('has every task with its blobs, large or small (%s)', async (name) => {
    file = at(name);
    const hub = await startHub(at('one'));
    const api = apiOf(hub);
    const agent = await agentOf(hub, 'one');
    const large = randomBytes(200_000);
    const id = await api.batchJob({ name: 'large' });
    await finish(agent, large);
    await upload(api, 'secret.wbpz', randomBytes(50_000), true);
    const waiting = await api.batchJob({
      name: 'later',
      inputScripts: [{ content: base64('x'.repeat(40_000)) }],
      inputModelReference: { type: 'INPUT_STORAGE', parameters: [{ key: 'name', value: 'secret.wbpz' }] },
      classifiers: [{ type: 'VERSION', value: 'none' }],
    });

    expect(await done('one', 'backup', file)).toMatch(/holds the hub, with 3 blobs of 2\d\d\.\d KiB/);
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(readdirSync(folder.path).filter((entry) => entry.startsWith('.'))).toEqual([]);
    expect(readdirSync(dataOf('one')).filter((entry) => entry.startsWith('.backup-'))).toEqual([]);

    const other = apiOf(await restoredHub());
    expect(await outputOf(other, id)).toBe(large.toString('base64'));
    expect(await other.task(waiting)).toMatchObject({ status: 'WAITING', name: 'later' });
    const stored = await other.get('/api/2.0/storage/input/secret.wbpz');
    expect(stored.body).toMatchObject({ exists: true });
    for (const key of ['agent-token', 'storage-key', 'manifest-keys', 'update-keys', 'cluster-id']) {
      expect(readFileSync(join(dataOf('two'), key))).toEqual(readFileSync(join(dataOf('one'), key)));
      expect(statSync(join(dataOf('two'), key)).mode & 0o777).toBe(0o600);
    }
  });

  it('has every task that was acknowledged before its start', async () => {
    const hub = await startHub(at('one'));
    const api = apiOf(hub);
    const acknowledged: string[] = [];
    const before = new Set<string>();
    let going = true;
    const create = async () => {
      while (going) {
        acknowledged.push(await api.batchJob({ inputScripts: [{ content: base64(randomBytes(40_000)) }] }));
      }
    };
    const creators = [create(), create()];
    await eventually(() => acknowledged.length > 10);
    for (const id of acknowledged) before.add(id);
    await done('one', 'backup', file);
    going = false;
    await Promise.all(creators);

    const other = apiOf(await restoredHub());
    for (const id of before) expect(await other.task(id)).toMatchObject({ status: 'WAITING' });
  });

  it('says that it does not hold files that are elsewhere', async () => {
    const storage = { folder: at('files') };
    await upload(apiOf(await startHub(at('one'), { storage })), 'model.wbpz', randomBytes(50_000), false);
    writeFileSync(at('elsewhere.json'), JSON.stringify({ dataDir: dataOf('one'), storage }));
    const args = ['--config', at('elsewhere.json'), 'backup', file];
    const { code, stdout, stderr } = await runCommand('hub/bin/workbench-hub.js', args, { cwd: folder.path });
    expect([code, stdout]).toEqual([0, expect.stringContaining('with 0 blobs')]);
    expect(stderr).toContain('It does not hold the blobs, which are in storage.folder or storage.s3');
  });

  it('does not replace a file without --overwrite', async () => {
    await startHub(at('one'));
    writeFileSync(file, 'of somebody');
    expect(await refused('one', 'backup', file)).toContain('is there already');
    expect(readFileSync(file, 'utf8')).toBe('of somebody');
    await done('one', 'backup', file, '--overwrite');
    expect(await refused('two', 'backup', at('other.tar'))).toContain('there is no hub in');
  });

  it('removes what killed commands have left in dataDir, and nothing of the operator', async () => {
    await startHub(at('one'));
    const eightDaysAgo = new Date(Date.now() - 8 * 86_400_000);
    const isOld = (path: string) => utimesSync(path, eightDaysAgo, eightDaysAgo);
    const folderWith = (name: string, ...path: string[]) => {
      mkdirSync(join(...path), { recursive: true });
      writeFileSync(join(...path, name), '');
      isOld(join(...path));
    };
    const own = dataOf('one');
    folderWith('hub.tar', own, 'backup-mine');
    folderWith('hub.tar', own, 'backup-weekly');
    writeFileSync(join(own, 'backup-old.tar'), '');
    isOld(join(own, 'backup-old.tar'));
    folderWith(`ab-ab${'0'.repeat(62)}`, own, '.backup-links-aB3dE6');
    folderWith(`ab-ab${'0'.repeat(62)}`, own, 'backup-aB3dE6');
    const warnings = (await command('one', 'doctor')).stdout;
    expect(warnings.match(/\S+(?= belongs to a backup)/g)?.sort()).toEqual([
      join(own, '.backup-links-aB3dE6'),
      join(own, 'backup-aB3dE6'),
    ]);
    await done('one', 'backup', file);
    const left = readdirSync(own).filter((name) => name.includes('backup'));
    expect(left.sort()).toEqual(['backup-mine', 'backup-old.tar', 'backup-weekly']);

    folderWith('note.txt', dataOf('two'), 'restore-points');
    folderWith('hub.sqlite', dataOf('two'), 'restore-aB3dE6');
    folderWith('hub.sqlite', dataOf('two'), '.restore-parts-aB3dE6');
    await done('two', 'restore', file);
    expect(readdirSync(dataOf('two')).filter((name) => name.includes('restore'))).toEqual(['restore-points']);
  });

  it('names lost blobs, and has the rest on request', async () => {
    const hub = await startHub(at('one'));
    const content = randomBytes(40_000);
    await apiOf(hub).batchJob({ inputScripts: [{ content: base64(content) }] });
    const contents = join(dataOf('one'), 'files');
    const [name = ''] = readdirSync(contents, { recursive: true, encoding: 'utf8' }).filter((path) =>
      /[0-9a-f]{64}$/.test(path),
    );
    rmSync(join(contents, name));
    expect(await refused('one', 'backup', file)).toContain(
      `1 blobs that tasks refer to are missing, such as ${name}`,
    );
    expect(existsSync(file)).toBe(false);
    await done('one', 'backup', file, '--incomplete');
    await done('two', 'restore', file);
  });
});

describe('a restore', () => {
  it('refuses a running hub, and existing data without an option', async () => {
    const hub = await startHub(at('one'));
    const id = await apiOf(hub).simulateWork();
    await done('one', 'backup', file);
    expect(await refused('one', 'restore', file, '--replace')).toContain('is in use');
    await hub.stop();
    const later = await startHub(at('one'));
    const lost = await apiOf(later).simulateWork();
    await later.stop();
    expect(await refused('one', 'restore', file)).toContain('--replace');

    expect(await done('one', 'restore', file, '--replace')).toContain('tasks 1 WAITING');
    const former = readdirSync(dataOf('one')).filter((name) => name.startsWith('replaced-'));
    expect(former).toHaveLength(1);
    expect(readdirSync(join(dataOf('one'), former[0] ?? ''))).toContain('hub.sqlite');
    const again = apiOf(await startHub(at('one')));
    expect(await again.task(id)).toMatchObject({ status: 'WAITING' });
    expect((await again.get(`/api/2.0/workbench/task/${lost}`)).status).toBe(404);
  });

  it('refuses an incomplete backup, and changes nothing', async () => {
    const hub = await startHub(at('one'));
    await apiOf(hub).batchJob({ inputScripts: [{ content: base64(randomBytes(100_000)) }] });
    await done('one', 'backup', file);
    const whole = readFileSync(file);
    const config = hubConfigSchema.parse({ dataDir: dataOf('two') });
    const { clock } = systemRuntime;
    const restored = (archive = file) =>
      restore({ config, file: archive, replace: false, clock, tell: () => undefined });
    const damaged = Buffer.from(whole);
    damaged[whole.length - 40_000] = (damaged[whole.length - 40_000] ?? 0) ^ 1;
    const cases: [Buffer, string][] = [
      [damaged, 'is missing or damaged'],
      [whole.subarray(0, whole.length - 20_000), 'cannot be restored'],
      [whole.subarray(0, 1024), 'cannot be restored'],
      [Buffer.from(whole.toString('latin1').replace('"format": 1', '"format": 2'), 'latin1'), 'newer hub'],
      [randomBytes(5000), 'cannot be restored'],
      [Buffer.alloc(0), 'cannot be restored'],
    ];
    for (const [content, message] of cases) {
      writeFileSync(file, content);
      await expect(restored()).rejects.toThrow(message);
      expect(readdirSync(dataOf('two')).filter((name) => name !== 'hub.sqlite-lock')).toEqual([]);
    }
    await expect(restored(at('nothing.tar'))).rejects.toThrow('cannot be read');
  });

  it('that was interrupted prevents the start of the hub', async () => {
    await startHub(at('one'));
    await done('one', 'backup', file);
    mkdirSync(dataOf('two'));
    writeFileSync(join(dataOf('two'), 'restore-under-way'), '');
    await expect(startHub(at('two'))).rejects.toThrow('a restore was interrupted');
    await done('two', 'restore', file, '--replace');
    await startHub(at('two'));
  });

  it('adopts attempts that agents run or finished since, and drops those that the older queue does not have', async () => {
    const hub = await startHub(at('one'));
    const api = apiOf(hub);
    const agent = await agentOf(hub, 'one', { instances: [{}, { id: 'sim-2' }, { id: 'sim-3' }] });
    const [running, spooled] = [await api.simulateWork(), await api.simulateWork()];
    const refs = [(await agent.hear('assign')).ref, (await agent.hear('assign')).ref];
    const ofTask = (id: string) => refs.find(({ taskId }) => taskId === id) ?? expect.fail('not assigned');
    const begun = await api.simulateWork({ name: 'waits in the backup' });
    await agent.hear('assign');
    await done('one', 'backup', file);
    const unknown = await api.simulateWork();
    await hub.stop();

    const restored = await restoredHub();
    const unknownRef = { taskId: unknown, attempt: 1, instanceId: 'sim-3' };
    const held = { running: [ofTask(running), unknownRef], spooled: [ofTask(spooled)] };
    const back = await agentOf(restored, 'two', {
      instances: [{}, { id: 'sim-2' }, { id: 'sim-3' }],
      ...held,
    });
    const other = apiOf(restored);
    expect((await back.hear('cancel')).ref).toEqual(unknownRef);
    back.report(ofTask(spooled), 'OK');
    expect((await back.hear('acknowledged')).counted).toBe(true);
    expect(await other.task(running)).toMatchObject({ status: 'RUNNING' });
    // No agent holds its attempt, so it is requeued.
    expect((await back.hear('assign', ({ ref }) => ref.taskId === begun)).ref).toMatchObject({ attempt: 2 });
  });
});
