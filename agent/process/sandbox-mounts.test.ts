import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { mountOptions } from './sandbox-mounts.js';

describe.skipIf(process.platform !== 'linux')('a sandbox shows', () => {
  let folder: string;
  const CLOSED = { network: false, gpus: false, readOnly: [] };

  beforeEach(() => {
    folder = realpathSync(mkdtempSync(join(tmpdir(), 'sandbox-mounts-test-')));
    mkdirSync(join(folder, 'data/work/prepared/files'), { recursive: true });
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  function optionsOf({
    command = ['true'],
    settings = CLOSED,
    readable = [] as string[],
    hidden = [] as string[],
  }) {
    const path = join(folder, 'data/work/prepared');
    const prepared = { path, writable: [join(path, 'files')], abandon: () => Promise.resolve() };
    return mountOptions(command, prepared, settings, { readable, hidden: [join(folder, 'data'), ...hidden] });
  }
  const text = (options: string[]) => options.join(' ');

  it('no writable folder but those of the prepared directory', () => {
    const options = optionsOf({ readable: [folder] });
    const writable = options.filter((_, at) => options[at - 1] === '--bind');
    expect(writable).toEqual([join(folder, 'data/work/prepared/files')]);
  });

  it('nothing of the agent, even in a readable folder', () => {
    const key = join(folder, 'agent.key');
    writeFileSync(key, 'secret');
    const options = optionsOf({ readable: [folder], hidden: [key] });
    const order = [
      `--ro-bind-try ${folder} ${folder}`,
      `--tmpfs ${folder}/data`,
      `--ro-bind ${folder}/data/work/prepared ${folder}/data/work/prepared`,
      `--bind ${folder}/data/work/prepared/files ${folder}/data/work/prepared/files`,
    ].map((mount) => text(options).indexOf(mount));
    expect(order).not.toContain(-1);
    expect(order).toEqual([...order].sort((a, b) => a - b));
    expect(text(options)).toContain(`--ro-bind /dev/null ${key}`);
    expect(text(optionsOf({}))).not.toContain(`--tmpfs ${folder}/data`);
  });

  it('the program of the command, the files that it loads, and their targets', () => {
    mkdirSync(join(folder, 'lib'));
    writeFileSync(join(folder, 'lib/adapter.py'), '');
    symlinkSync(join(folder, 'lib/adapter.py'), join(folder, 'adapter'));
    const options = text(
      optionsOf({ command: ['python3', join(folder, 'adapter'), '/', '--x=/etc', '/no/such'] }),
    );
    expect(options).toContain(`--ro-bind-try ${folder}/adapter ${folder}/adapter`);
    expect(options).toContain(`--ro-bind-try ${folder}/lib/adapter.py ${folder}/lib/adapter.py`);
    expect(options).not.toMatch(/--ro-bind(-try)? \/ |\/no\/such/);
  });

  it('no folder with keys, no home, and of /etc only listed files', () => {
    const options = optionsOf({});
    const places = options.filter(
      (option, at) => /^--ro-bind/.test(options[at - 2] ?? '') && option.startsWith('/etc'),
    );
    expect(places.length).toBeGreaterThan(10);
    for (const place of [
      '/etc',
      '/etc/ssl',
      '/etc/ssl/private',
      '/etc/shadow',
      '/home',
      '/root',
      '/var',
      '/run',
    ]) {
      expect(options).not.toContain(place);
    }
  });

  it('devices of graphics cards only if they are listed', () => {
    const options = text(optionsOf({ settings: { ...CLOSED, gpus: ['/dev/nvidia0'] } as never }));
    expect(options).toContain('--dev-bind /dev/nvidia0 /dev/nvidia0');
    expect(options.indexOf('--dev-bind /dev/nvidia0')).toBeGreaterThan(options.indexOf('--dev /dev'));
  });
});
