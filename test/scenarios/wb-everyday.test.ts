/** The command line `wb` as people use it every day: parts of ids, folders, profiles, and addresses that are wrong. */
import { existsSync, readFileSync, unlinkSync, writeFileSync } from 'node:fs';
import { createServer, type RequestListener, type Server } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { eventually } from '../support/eventually.js';
import { authority } from '../support/hubs/certificates.js';
import { endPrograms, startHub } from '../support/programs/programs.js';
import { callWb, endCalls } from '../support/programs/wb.js';
import { type TemporaryFolder, temporaryFolder } from '../support/temporary-folder.js';

vi.setConfig({ testTimeout: 120_000 });

let folder: TemporaryFolder;
beforeEach(async () => {
  folder = await temporaryFolder();
});
afterEach(async () => {
  endCalls();
  await endPrograms();
  await folder.remove();
});

const call = (url: string | undefined, args: readonly string[], stdin = '') =>
  callWb(folder.path, url, args, { stdin });
const wb = (url: string | undefined, args: readonly string[], stdin?: string) =>
  call(url, args, stdin).outcome;
const inFolder = (...names: readonly string[]) => join(folder.path, ...names);

async function portOf(server: Server | ReturnType<typeof createTlsServer>): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return (server.address() as AddressInfo).port;
}

/** A hub without security, as far as a login sees it. */
const OPEN_HUB: RequestListener = (_, response) => {
  response.writeHead(200, { 'content-type': 'application/json' });
  response.end('{"username":"anonymous"}');
};

describe('wb verify', () => {
  it('tells what differs from the manifest by name, and needs no hub with the keys that it saved', async () => {
    const hub = await startHub(folder.path, { instances: [{ id: 'sim', version: '9.1.0' }] });
    await hub.logged(({ msg }) => String(msg).startsWith('up: '));
    writeFileSync(
      inFolder('run.js'),
      "const { mkdirSync, writeFileSync } = require('node:fs'); mkdirSync('plots'); " +
        "for (const name of ['a.txt', 'b.txt', 'plots/c.txt']) writeFileSync(name, name)",
    );
    const { stdout } = await wb(hub.baseUrl, ['run', '--script', 'run.js', '--quiet', '--json']);
    const { id } = JSON.parse(stdout) as { id: string };
    const manifest = `results/${id}.manifest.json`;
    expect(await wb(hub.baseUrl, ['result', id, '--out', 'results', '--manifest'])).toMatchObject({
      code: 0,
      stdout: expect.stringContaining(manifest),
    });
    expect(await wb(hub.baseUrl, ['verify', '--save-keys', 'keys.json'])).toMatchObject({
      code: 0,
      stdout: 'keys.json\n',
    });
    const right = await wb(hub.baseUrl, ['verify', 'results']);
    expect([right.code, right.stderr]).toEqual([0, '']);
    expect(right.stdout).toMatch(
      /: right\nsigned +by \S+, key \S+\ntask +\S+\nstatus +FINISHED, scripts OK\n/,
    );
    expect(right.stdout).toMatch(/^outputs +3 of 3 are as signed$/m);
    // Nothing listens at this address.
    const offline = (...args: readonly string[]) =>
      wb('http://127.0.0.1:9', ['verify', ...args, '--keys', 'keys.json']);
    expect((await offline('results')).stdout).toBe(right.stdout);

    unlinkSync(inFolder('results/a.txt'));
    writeFileSync(inFolder('results/b.txt'), 'B.txt');
    writeFileSync(inFolder('results/plots/d.txt'), 'more');
    const differing = await offline(manifest, '--files', 'results');
    expect(differing.code).toBe(1);
    expect(differing.stdout).toMatch(/: the signature is right, the files are not\n/);
    expect(differing.stdout).toMatch(
      /\nmissing +a\.txt\nchanged +b\.txt\nadditional +plots\/d\.txt\noutputs +1 of 3 are as signed\n$/,
    );
    // The manifest alone is right.
    expect((await offline(manifest)).code).toBe(0);

    const text = readFileSync(inFolder(manifest), 'utf8');
    writeFileSync(inFolder('changed.json'), text.replace('"status": "FINISHED"', '"status": "FAILED"'));
    writeFileSync(inFolder('empty.json'), '');
    expect(await offline('changed.json', 'empty.json', 'none.json', manifest)).toMatchObject({
      code: 1,
      stdout: expect.stringMatching(
        /^changed\.json: refused: .*: manifest\.task\.status differs\n\nempty\.json: refused: it is no signed manifest: .*\n\nnone\.json: refused: none\.json cannot be read: .*\n\nresults\S+: right\n/,
      ),
    });
    const exchanged = '019aa4f2-6d3c-7c41-9f0e-5b2f6f1d2a77.manifest.json';
    writeFileSync(inFolder(exchanged), text);
    expect(await offline(exchanged)).toMatchObject({
      code: 1,
      stdout: expect.stringContaining(
        `refused: it is that of task ${id}, and its file is named after task 019aa4f2`,
      ),
    });
  });

  it.each<[string, readonly string[], RegExp]>([
    ['nothing to verify', [], /which manifest\? Give its file, or the folder/],
    ['a file that is not there', ['none.json'], /none\.json cannot be read: there is no such file/],
    [
      'a folder without a manifest',
      ['.'],
      /\. has no manifest: wb result ID --out FOLDER --manifest saves one/,
    ],
    ['a folder of files that is none', ['hub.yaml', '--files', 'hub.yaml'], /hub\.yaml is no folder/],
    ['several manifests for a folder', ['a', 'b', '--files', '.'], /--files is for one manifest/],
    [
      'a file without keys',
      ['hub.yaml', '--keys', 'hub.yaml'],
      /hub\.yaml holds no keys: wb verify --save-keys FILE/,
    ],
    ['keys that are given and saved', ['a', '--keys', 'b', '--save-keys', 'c'], /leave out --keys/],
  ])('refuses %s, in words', async (_, args, words) => {
    writeFileSync(inFolder('hub.yaml'), '{}');
    writeFileSync(inFolder('keys.json'), '{"keys":[]}');
    const keys = args.includes('--keys') || args.length === 0 ? [] : ['--keys', 'keys.json'];
    expect(await wb(undefined, ['verify', ...args, ...keys])).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(words),
    });
  });
});

describe('wb', () => {
  it('brings the outputs of several tasks into folders of their own, and finds tasks by parts of their ids', async () => {
    const hub = await startHub(folder.path, { instances: [{ id: 'sim', version: '9.1.0' }] });
    await hub.logged(({ msg }) => String(msg).startsWith('up: '));
    writeFileSync(
      inFolder('run.js'),
      "console.log('ran', number); require('node:fs').writeFileSync('a.txt', number)",
    );
    const ids: string[] = [];
    for (const number of ['1', '2']) {
      const { stdout } = await wb(hub.baseUrl, ['submit', '--script', 'run.js', '--var', `number=${number}`]);
      ids.push(stdout.trim());
    }
    const waited = await wb(hub.baseUrl, ['wait', '--out', 'results', '--quiet'], ids.join('\n'));
    expect(waited.code).toBe(0);
    const saved = ids.map((id) => readFileSync(inFolder('results', id, 'a.txt'), 'utf8'));
    expect(saved).toEqual(['1', '2']);

    const [first = '', second = ''] = ids;
    const shown = await wb(hub.baseUrl, ['task', first.slice(-12), '--json']);
    expect(JSON.parse(shown.stdout)).toMatchObject({ id: first });
    expect((await wb(hub.baseUrl, ['log', second.slice(-12)])).stdout).toBe('ran 2\n');
    expect((await wb(hub.baseUrl, ['task', first])).stdout).toMatch(
      /^requested {2}\d{4}-\d\d-\d\d \d\d:\d\d:\d\d \(\d+ \w+ ago\)$/m,
    );
    const listed = await wb(hub.baseUrl, ['tasks', '--from', 'yesterday', '--to', 'now', '--json']);
    expect(JSON.parse(listed.stdout)).toHaveLength(2);
    expect(await wb(hub.baseUrl, ['tasks', '--from', 'soon'])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('--from "soon" is no time: give today, yesterday'),
    });

    const again = ['rerun', second.slice(-12), '--var', 'number=3', '--follow', '--out', 'again'];
    expect(await wb(hub.baseUrl, again)).toMatchObject({ code: 0, stderr: expect.stringContaining('ran 3') });
    expect(readFileSync(inFolder('again', 'a.txt'), 'utf8')).toBe('3');
  });

  it('says how to cancel a task that runs, and of a folder before the run', async () => {
    const hub = await startHub(folder.path, { instances: [{ id: 'sim', version: '9.1.0' }] });
    await hub.logged(({ msg }) => String(msg).startsWith('up: '));
    writeFileSync(inFolder('waits.js'), "console.log('it began'); setInterval(() => {}, 1000);");
    const running = call(hub.baseUrl, ['run', '--script', 'waits.js']);
    await eventually(() => running.told().includes('it began'));
    const id = /^([\w-]{36}): RUNNING/m.exec(running.told())?.[1] ?? '';
    expect(await wb(hub.baseUrl, ['cancel', id.slice(-12)])).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/only a WAITING one can be canceled; --force ends it on its/),
    });
    expect((await wb(hub.baseUrl, ['cancel', '--force', id])).code).toBe(0);
    expect((await running.outcome).code).toBe(3);

    writeFileSync(inFolder('no-folder'), '');
    expect(await wb(hub.baseUrl, ['run', '--script', 'waits.js', '--out', 'no-folder'])).toMatchObject({
      code: 2,
      stderr: 'wb: --out no-folder cannot be used: it is no folder\n',
    });
    expect(await wb(hub.baseUrl, ['run', '--script', 'waits.js', '--file', 'none.csv'])).toMatchObject({
      code: 2,
      stderr: 'wb: none.csv cannot be read: there is no such file\n',
    });
    const tasks = await wb(hub.baseUrl, ['tasks', '--json']);
    expect(JSON.parse(tasks.stdout)).toHaveLength(1);
  });

  it('has profiles beside the default one, which is chosen by name', async () => {
    const url = `http://127.0.0.1:${await portOf(createServer(OPEN_HUB))}`;
    const defaults = () => JSON.parse(readFileSync(inFolder('profiles.json'), 'utf8')).default as string;
    expect((await wb(undefined, ['login', url, '--profile', 'site'])).code).toBe(0);
    expect(defaults()).toBe('site');
    const other = await wb(undefined, ['login', url, '--profile', 'test']);
    expect(other.stderr).toContain('wb goes on to use the profile site');
    expect(defaults()).toBe('site');
    expect((await wb(undefined, ['profiles', 'use', 'test'])).stdout).toMatch(/^\* +test +http/m);
    expect(defaults()).toBe('test');
    expect(await wb(undefined, ['profiles', 'use', 'none'])).toMatchObject({
      code: 2,
      stderr: 'wb: which profile? Known profiles: site, test\n',
    });
    expect((await wb(undefined, ['login', url])).code).toBe(0);
    expect(defaults()).toBe(new URL(url).host);
  });

  it('keeps the whole path of the authority of a profile, which is used from other folders', async () => {
    const ca = await authority(folder.path, 'company');
    const { cert, key } = await ca.issue({ name: 'hub', hosts: ['127.0.0.1'] });
    const tls = createTlsServer({ cert: readFileSync(cert), key: readFileSync(key) }, OPEN_HUB);
    const url = `https://127.0.0.1:${await portOf(tls)}`;
    const words = ['login', url, '--profile', 'site', '--ca-file', 'company.pem'];
    expect(await wb(undefined, words)).toMatchObject({ code: 0 });
    const { profiles } = JSON.parse(readFileSync(inFolder('profiles.json'), 'utf8'));
    expect(profiles.site).toMatchObject({ url, caFile: inFolder('company.pem') });
  });

  it('tells its version', async () => {
    const [short, long] = [await wb(undefined, ['-V']), await wb(undefined, ['--version'])];
    expect(long).toMatchObject({ code: 0, stdout: expect.stringMatching(/^\d+\.\d+\.\d+/), stderr: '' });
    expect(short).toEqual(long);
    expect(await wb(undefined, ['--wb-version'])).toEqual(long);
  });
});

describe('wb with a wrong address', () => {
  it.each([
    ['hub.example', 'is no address of a hub: it is like https://hub.example'],
    ['hub:8080', 'is no address of a hub'],
    ['ftp://hub.example', 'is no address of a hub'],
  ])('says of %s what an address is', async (url, message) => {
    for (const args of [
      ['tasks', '--hub', url],
      ['login', url],
    ])
      expect(await wb(undefined, args)).toMatchObject({ code: 2, stderr: expect.stringContaining(message) });
    expect(existsSync(inFolder('profiles.json'))).toBe(false);
  });

  it('names the option for a private authority, and what a server speaks', async () => {
    const ca = await authority(folder.path, 'company');
    const { cert, key } = await ca.issue({ name: 'hub', hosts: ['127.0.0.1'] });
    const tls = createTlsServer({ cert: readFileSync(cert), key: readFileSync(key) }, OPEN_HUB);
    const secure = `127.0.0.1:${await portOf(tls)}`;
    const plain = `127.0.0.1:${await portOf(createServer(OPEN_HUB))}`;
    const said = async (...args: readonly string[]) => {
      const { code, stderr } = await wb(undefined, args);
      return `${code} ${stderr}`;
    };
    expect(await said('tasks', '--hub', `https://${secure}`)).toMatch(
      /^4 wb: the hub at \S+ cannot be reached: its certificate is signed by no authority that is trusted here \(\w+\); name the certificate of a private authority with --ca-file, or WB_CA_FILE(?:, or add it to those that this system trusts)?\n$/,
    );
    expect(await said('tasks', '--hub', `https://${plain}`)).toMatch(
      /^4 wb: .* it does not speak TLS as expected; if it has none, the address begins with http:\/\/ \(\w+\)\n$/,
    );
    expect(await said('login', `http://${secure}`)).toMatch(
      /^4 wb: the hub at \S+ cannot be reached: .*; if it has TLS, the address begins with https:\/\/\n$/,
    );
    expect(await said('tasks', '--hub', 'http://127.0.0.1:1')).toMatch(
      /^4 wb: the hub at \S+ cannot be reached: HTTP may not use this port, .* \(BLOCKED_PORT\)\n$/,
    );
    const gone = createServer(OPEN_HUB);
    const url = `http://127.0.0.1:${await portOf(gone)}`;
    await new Promise((resolve) => gone.close(resolve));
    expect(await said('login', url)).toBe(
      `4 wb: the hub at ${url} cannot be reached: nothing listens there (ECONNREFUSED)\n`,
    );
  });
});
