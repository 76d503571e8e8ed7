/** The section of README.md about separate hosts: its configuration and commands, on one machine. */
import { execFile } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { eventually } from '../support/eventually.js';
import { authority } from '../support/hubs/certificates.js';
import { endPrograms, startProgram } from '../support/programs/programs.js';
import { runCommand } from '../support/programs/run-command.js';
import { type TemporaryFolder, temporaryFolder } from '../support/temporary-folder.js';

const PASSWORD = 'correct horse battery staple';
const PROGRAMS: Record<string, string> = {
  'workbench-hub': 'hub/bin/workbench-hub.js',
  'workbench-agent': 'agent/bin/workbench-agent.js',
};
const readme = readFileSync(new URL('../../README.md', import.meta.url), 'utf8');
const section = readme.slice(
  readme.indexOf('## Hub and agents on separate hosts'),
  readme.indexOf('## Read on'),
);

let folder: TemporaryFolder;

beforeEach(async () => {
  folder = await temporaryFolder();
});

afterEach(async () => {
  await endPrograms();
  await folder.remove();
});

/** The fenced block of the section that contains `text`. */
function block(text: string): string {
  const found = [...section.matchAll(/```\w+\n([\s\S]*?)```/g)].find(([, body]) => body?.includes(text));
  if (found?.[1] === undefined) throw new Error(`the README has no block with ${text}`);
  return found[1];
}

/** The block as a file of the folder, with paths, address and port of this machine. */
function writeConfig(name: string, replacements: Record<string, string>): void {
  const text = Object.entries(replacements).reduce(
    (all, [from, to]) => {
      expect(all).toContain(from);
      return all.replace(from, to);
    },
    block(`# ${name}`),
  );
  writeFileSync(join(folder.path, name), text);
}

/** Program and arguments of the README's command that begins with `words`. */
function command(words: string): [script: string, args: string[]] {
  const line = [...section.matchAll(/^npx (.+?) *(?:#.*)?$/gm)].find(([, text]) => text?.startsWith(words));
  if (line?.[1] === undefined) throw new Error(`the README has no command ${words}`);
  const [program = '', ...args] = line[1].split(' ');
  return [PROGRAMS[program] ?? program, args];
}

async function runToEnd(words: string, input = ''): Promise<string> {
  const { code, stdout, stderr } = await runCommand(...command(words), { cwd: folder.path, input });
  expect(code, stderr).toBe(0);
  return stdout;
}

it('configuration and commands for separate hosts lead to a login and running instances', async () => {
  const { cert, key } = await (await authority(folder.path, 'ca')).issue({
    name: 'hub',
    hosts: ['127.0.0.1'],
  });
  writeConfig('hub.yaml', {
    '0.0.0.0': '127.0.0.1',
    '8443': '0',
    '/etc/workbench-hub/hub.pem': cert,
    '/etc/workbench-hub/hub.key': key,
    '/var/lib/workbench-hub': './hub',
  });
  await runToEnd('workbench-hub user add', `${PASSWORD}\n`);
  const code = await runToEnd('workbench-hub agent enroll');
  const hub = startProgram(...command('workbench-hub --config'), folder.path);
  const { address } = await hub.logged((line) => typeof line['address'] === 'string');

  writeConfig('agent.yaml', {
    'wss://hub.example.com:8443': String(address).replace('https', 'wss'),
    '/etc/workbench-agent/ca.pem': './ca.pem',
    '/var/lib/workbench-agent': './agent',
  });
  await runToEnd('workbench-agent enroll', code);
  startProgram(...command('workbench-agent --config'), folder.path);

  const client = block('HUB=')
    .replace('https://hub.example.com:8443', String(address))
    .replace('…', PASSWORD);
  await eventually(async () => {
    const { stdout } = await promisify(execFile)('bash', ['-euc', client], { cwd: folder.path });
    const { content } = JSON.parse(stdout) as { content: { status: string }[] };
    return content.length === 4 && content.every(({ status }) => status === 'UP');
  });
});
