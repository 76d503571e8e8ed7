/** Starts and commands that fail for a reason that the operator can mend: they end with a sentence, never a stack. */
import { once } from 'node:events';
import { chmodSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { stringify } from 'yaml';
import { authority } from '../support/hubs/certificates.js';
import { endPrograms, startHub, startProgram } from '../support/programs/programs.js';
import { type TemporaryFolder, temporaryFolder } from '../support/temporary-folder.js';

let folder: TemporaryFolder;
beforeEach(async () => {
  folder = await temporaryFolder();
});
afterEach(async () => {
  await endPrograms();
  await folder.remove();
});

const at = (...names: string[]) => join(folder.path, ...names);

/** Runs a program to its end, and expects a refusal in words. */
async function refusal(
  name: 'hub' | 'agent',
  args: readonly string[],
  by: readonly string[] = [],
): Promise<string> {
  const { ended, lines, printed } = startProgram(
    `${name}/bin/workbench-${name}.js`,
    args,
    folder.path,
    {},
    { by },
  );
  const exitCode = await ended;
  const text = [...printed, ...lines.map((line) => JSON.stringify(line))].join('\n');
  expect(exitCode, text).toBe(2);
  expect(text).not.toMatch(/^ +at |\\n +at |"stack"|node:internal/m);
  return [...printed, ...lines.map(({ msg }) => msg)].join('\n');
}

function withConfig(
  name: 'hub' | 'agent',
  config: Record<string, unknown>,
  by: readonly string[] = [],
): Promise<string> {
  const basic = name === 'hub' ? { server: { port: 0 } } : { id: 'host', token: 'a-token' };
  writeFileSync(at('config.yaml'), stringify({ dataDir: at('data'), ...basic, ...config }));
  return refusal(name, ['--config', at('config.yaml')], by);
}

describe.each(['hub', 'agent'] as const)('the %s', (name) => {
  it.each<[string, () => void, string]>([
    ['is missing', () => undefined, 'there is no such file'],
    ['is a folder', () => mkdirSync(at('config.yaml')), 'cannot be read (EISDIR)'],
    ['is no YAML', () => writeFileSync(at('config.yaml'), 'dataDir: [a\nlog: }'), 'config.yaml: '],
    ['is a list', () => writeFileSync(at('config.yaml'), '- a\n'), 'must hold keys and values'],
    ['is binary', () => writeFileSync(at('config.yaml'), Buffer.from([0, 255, 254, 1])), 'config.yaml: '],
    ['has an unknown key', () => writeFileSync(at('config.yaml'), 'dataDirr: a\n'), 'dataDirr'],
    ['has an alias without anchor', () => writeFileSync(at('config.yaml'), 'dataDir: *a\n'), 'config.yaml: '],
  ])('refuses a configuration that %s', async (_, make, words) => {
    make();
    expect(await refusal(name, ['--config', at('config.yaml')])).toContain(words);
  });

  it('refuses unknown commands and options, and names the known ones', async () => {
    expect(await refusal(name, ['sart'])).toMatch(
      /^unknown command "sart": the commands (?:of \S+ )?are \w+, /,
    );
    expect(await refusal(name, ['--confg', 'a.yaml'])).toContain('(Did you mean --config?)');
  });

  it.each<[string, () => void]>([
    ['is a file', () => writeFileSync(at('data'), '')],
    ['is below a file', () => writeFileSync(at('d'), '')],
    ['is a circular link', () => symlinkSync(at('data'), at('data'))],
    ['is a link to nowhere', () => symlinkSync(at('none', 'data'), at('data'))],
    ['has a name that is too long', () => undefined],
  ])('refuses a dataDir that %s', async (what, make) => {
    make();
    const dataDir = what.includes('below')
      ? at('d', 'data')
      : what.includes('long')
        ? at('x'.repeat(300))
        : at('data');
    expect(await withConfig(name, { dataDir })).toContain(folder.path);
  });

  it.each(['logs', `logs/${name}.log`])('refuses a dataDir where %s is something else', async (path) => {
    mkdirSync(at('data'));
    if (path === 'logs') writeFileSync(at('data', path), '');
    else mkdirSync(at('data', path), { recursive: true });
    expect(await withConfig(name, {})).toMatch(/the log file .* cannot be written/);
  });
});

describe('the hub', () => {
  it('names the port that is in use', async () => {
    const other = createServer().listen(0, '127.0.0.1');
    await once(other, 'listening');
    const { port } = other.address() as AddressInfo;
    const words = await withConfig('hub', { server: { port } });
    other.close();
    expect(words).toContain(`port ${port} of 127.0.0.1 is in use: stop what listens there`);
  });

  it('names an address that this machine does not have', async () => {
    const server = { host: '203.0.113.7', port: 8080 };
    expect(await withConfig('hub', { server, security: { allowInsecure: true } })).toContain('203.0.113.7');
  });

  it.each([
    'hub.sqlite',
    'accounts.sqlite',
    'files',
    'audit',
    'agent-token',
    'storage-key',
    'token-keys.json',
    'webhook-keys',
    'manifest-keys',
    'update-keys',
    'cluster-id',
  ])('refuses a dataDir where %s is something else', async (entry) => {
    mkdirSync(at('data'), { mode: 0o700 });
    if (['files', 'audit'].includes(entry)) writeFileSync(at('data', entry), 'text', { mode: 0o600 });
    else mkdirSync(at('data', entry), { mode: 0o700 });
    const config = { security: { enabled: true }, webhooks: { notify: ['https://ci.example.org/'] } };
    expect(await withConfig('hub', config)).toContain(at('data'));
  });

  it('names a key of another certificate', async () => {
    const ca = await authority(folder.path, 'ca');
    const [one, other] = [
      await ca.issue({ name: 'one', hosts: ['a'] }),
      await ca.issue({ name: 'two', hosts: ['b'] }),
    ];
    const tls = { cert: one.cert, key: other.key };
    expect(await withConfig('hub', { server: { port: 0, tls } })).toContain(
      'is not the key of the certificate',
    );
  });

  it.each([
    [['user', 'ad', 'anna'], 'unknown command "ad": the commands of user are add, passwd'],
    [['user'], 'a command is missing: the commands of user are add, passwd'],
    [['agent', 'register', 'a'], 'unknown command "register": the commands of agent are enroll, list'],
    [['keys', 'rotat'], 'unknown command "rotat": the commands of keys are rotate'],
    [['user', 'list', 'anna'], 'too many arguments'],
  ])('refuses the command %j', async (words, sentence) => {
    expect(await refusal('hub', words)).toContain(sentence);
  });

  it('refuses a backup into a folder that does not exist', async () => {
    const hub = await startHub(folder.path);
    await hub.stop();
    const words = await refusal('hub', ['--config', at('hub.yaml'), 'backup', at('none', 'b.tar')]);
    expect(words).toBe(`${at('none')}: there is no such folder: choose another for the backup, or make it`);
  });

  it.each([
    ['user', 'list'],
    ['agent', 'list'],
    ['keys', 'rotate'],
    ['backup', 'b.tar'],
  ])('refuses "%s %s" on a dataDir that is a file', async (...words) => {
    writeFileSync(at('data'), '');
    writeFileSync(at('config.yaml'), stringify({ dataDir: at('data') }));
    expect(await refusal('hub', ['--config', at('config.yaml'), ...words])).toContain(at('data'));
  });
});

describe('the agent', () => {
  it.each(['cache', 'work', 'spool', 'node-id', 'agent.lock'])(
    'refuses a dataDir where %s is something else',
    async (entry) => {
      mkdirSync(at('data'), { mode: 0o700 });
      if (['cache', 'work', 'spool'].includes(entry)) writeFileSync(at('data', entry), 'text');
      else mkdirSync(at('data', entry));
      expect(await withConfig('agent', {})).toContain(at('data', entry));
    },
  );

  it('refuses TLS files that are missing, and a credential of no enrollment', async () => {
    const tls = { ca: at('none.pem') };
    expect(await withConfig('agent', { tls })).toContain(
      `the file of "tls.ca", ${at('none.pem')}, cannot be read`,
    );
    expect(await withConfig('agent', { token: null })).toContain('this agent has no token or credential');
  });
});

/** Root reads everything, unless it lacks these capabilities. */
const ORDINARY =
  process.getuid?.() === 0 ? ['setpriv', '--bounding-set', '-dac_override,-dac_read_search', '--'] : [];

it.each(['hub', 'agent'] as const)(
  'the %s refuses a configuration and a dataDir that it may not read',
  async (name) => {
    writeFileSync(at('config.yaml'), '');
    chmodSync(at('config.yaml'), 0o000);
    expect(await refusal(name, ['--config', at('config.yaml')], ORDINARY)).toContain(
      'cannot be read (EACCES)',
    );
    chmodSync(at('config.yaml'), 0o600);
    mkdirSync(at('data'), { mode: 0o000 });
    expect(await withConfig(name, {}, ORDINARY)).toContain('EACCES');
  },
);
