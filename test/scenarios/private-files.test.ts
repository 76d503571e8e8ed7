/** Files of hub and agent are private, whatever umask they are started with. */
import { chmodSync, existsSync, mkdirSync, readdirSync, rmSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { eventually } from '../support/eventually.js';
import { formWithFile } from '../support/interface/forms.js';
import { base64, outputsOf, restClient } from '../support/interface/rest-client.js';
import { endPrograms, startAgent, startHub } from '../support/programs/programs.js';
import { type TemporaryFolder, temporaryFolder } from '../support/temporary-folder.js';

const BY_ALL = ['sh', '-c', 'umask 000; exec "$@"', 'sh'];
const SIM = { instances: [{ id: 'sim', version: '1' }] };

let folder: TemporaryFolder;
beforeEach(async () => {
  folder = await temporaryFolder();
});
afterEach(async () => {
  await endPrograms();
  await folder.remove();
});

/** Everything in a folder that group or others may use, with its mode. The modes of files that scripts create are their own. */
function openIn(path: string, isOwn: (path: string) => boolean = () => true): string[] {
  const { mode } = statSync(path);
  const open = (mode & 0o077) === 0 ? [] : [`${path} ${(mode & 0o777).toString(8)}`];
  if (!statSync(path).isDirectory()) return open;
  const inside = readdirSync(path).map((name) => join(path, name));
  return [...open, ...inside.filter(isOwn).flatMap((each) => openIn(each, isOwn))];
}

it.skipIf(process.platform === 'win32')(
  'hub and agent keep their files from other users, whatever the umask',
  async () => {
    const hub = await startHub(folder.path, {}, 0, BY_ALL);
    const host = join(folder.path, 'host');
    startAgent(folder.path, hub, 'host', SIM, { by: BY_ALL });
    const client = restClient(hub.baseUrl);
    for (const query of ['', '?encrypt=true']) {
      const { raw, headers } = formWithFile(`model${query.length}`, Buffer.alloc(300_000, 'x'));
      const path = `/api/2.0/storage/input/upload${query}`;
      expect((await fetch(hub.baseUrl + path, { method: 'POST', body: raw, headers })).status).toBe(204);
    }
    const script = `
    const fs = require('node:fs');
    fs.writeFileSync('out.txt', 'x'.repeat(300000), { mode: 0o644 });
    fs.writeFileSync('mode.txt', (process.umask() & 0o777).toString(8));
    fs.writeFileSync('waiting', '');
    while (fs.existsSync('waiting')) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 20);
  `;
    const id = await client.createBatchJob({
      inputScripts: [{ content: base64(script) }],
      additionalFiles: [{ filename: 'large.bin', content: Buffer.alloc(300_000, 'y').toString('base64') }],
    });
    const isWaiting = () => {
      const work = join(host, 'work');
      return readdirSync(work).map((name) => join(work, name, 'files', 'waiting'));
    };
    const waiting = await eventually(() => isWaiting().find((path) => existsSync(path)));
    expect(openIn(join(folder.path, 'hub'))).toEqual([]);
    // Other users cannot reach files in a working directory, whatever their modes.
    const work = join(host, 'work');
    expect(openIn(host, (path) => dirname(path) !== work)).toEqual([]);
    for (const name of readdirSync(work)) expect(statSync(join(work, name)).mode & 0o077).toBe(0);
    rmSync(waiting);
    const outputs = outputsOf(await client.batchJobResult(id));
    expect([outputs['mode.txt'], outputs['out.txt']?.length]).toEqual(['0', 300_000]);
    // The results are private as well, once the agent has handed over its files.
    const spooled = join(host, 'spool', 'files');
    await eventually(() => [work, spooled].every((path) => readdirSync(path).length === 0));
    expect(openIn(join(folder.path, 'hub'))).toEqual([]);
    expect(openIn(host)).toEqual([]);
  },
);

it.skipIf(process.platform === 'win32')(
  'hub and agent report files that other users can access',
  async () => {
    for (const name of ['hub', 'host']) {
      mkdirSync(join(folder.path, name, 'older'), { recursive: true });
      for (const path of [join(folder.path, name), join(folder.path, name, 'older')]) chmodSync(path, 0o755);
    }
    const hub = await startHub(folder.path);
    const agent = startAgent(folder.path, hub, 'host', SIM);
    for (const [program, name] of [[hub, 'hub'] as const, [agent, 'host'] as const]) {
      const path = join(folder.path, name);
      const told = await program.logged(({ msg }) => msg?.startsWith('other users') === true);
      expect(told.msg).toBe(
        `other users of this machine may use older in ${path}: run "chmod -R go= ${path}"`,
      );
    }
  },
);
