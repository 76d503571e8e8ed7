import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { linesFor } from './completion.js';
import { createProgram } from './program.js';

const TASK = { id: '01a203bb-91c8-77a8-ba09-430317dc43d6', status: 'RUNNING', name: 'gear \u001b[2J' };
const PAGE = { totalPages: 1, totalElements: 1, last: true };
const ANSWERS: Readonly<Record<string, unknown>> = {
  '/api/x/tasks': { tasks: [TASK], counts: {}, cursor: 'a', total: 1 },
  '/api/2.0/workbench/node/instance/list': {
    ...PAGE,
    content: [
      { id: 'sim-1', status: 'UP', version: '9.1.0', labels: ['gears', '$(evil)'] },
      { id: 'other', status: 'UP', version: '9.1.0', labels: ['gears'] },
    ],
  },
  '/api/x/agents': { ...PAGE, content: [{ id: 'host-1', status: 'UP' }] },
  '/api/x/storage/input': { files: [{ name: 'gearbox.xml' }] },
};

let folder: string;
let server: Server;
let url: string;
beforeAll(async () => {
  folder = mkdtempSync(path.join(tmpdir(), 'completion-'));
  server = createServer((request, response) => {
    const answer = ANSWERS[(request.url ?? '').replace(/\?.*/, '')];
    response.writeHead(answer === undefined ? 404 : 200, { 'content-type': 'application/json' });
    response.end(JSON.stringify(answer ?? { message: 'not found' }));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const file = path.join(folder, 'profiles.json');
  writeFileSync(file, JSON.stringify({ default: 'site', profiles: { site: { url }, spare: { url } } }));
  vi.stubEnv('WB_PROFILES', file);
});
afterAll(async () => {
  vi.unstubAllEnvs();
  await new Promise((resolve) => server.close(resolve));
  rmSync(folder, { recursive: true });
});

const suggested = async (...given: readonly string[]) => {
  const lines = await linesFor(createProgram('0.0.0').command, given);
  return lines.map((line) => line.split('\t')[0]);
};

describe('completion', () => {
  it.each([
    ['commands', ['ru'], ['run', ':4']],
    ['commands of a group', ['storage', ''], ['ls', 'put', 'info', 'rm', 'get', ':4']],
    ['options', ['task', '--j'], ['--json', ':4']],
    ['statuses', ['tasks', '--status', 'F'], ['FINISHED', 'FAILED', ':4']],
    ['statuses after =', ['tasks', '--status=C'], ['CANCELED', ':4']],
    ['priorities', ['run', '--priority', 'L'], ['LOW', 'LOWEST', ':4']],
    ['profiles', ['tasks', '--profile', ''], ['site', 'spare', ':4']],
    ['profiles to use', ['profiles', 'use', 's'], ['site', 'spare', ':4']],
    ['labels, none that a shell would expand', ['run', '--label', ''], ['gears', ':4']],
    ['versions', ['run', '--version', ''], ['9.1.0', ':4']],
    ['tasks', ['log', ''], [TASK.id, ':4']],
    ['several tasks', ['wait', TASK.id, ''], [TASK.id, ':4']],
    ['instances', ['instance', 'restart', 's'], ['sim-1', ':4']],
    ['names of files', ['run', '--script', ''], [':0']],
    ['names of files as arguments', ['storage', 'put', 'a'], [':0']],
    ['nothing of a hub that is away', ['log', '--hub', 'http://127.0.0.1:9', ''], [':4']],
  ])('suggests %s', async (_, given, expected) => {
    expect(await suggested(...given)).toEqual(expected);
  });

  it('has descriptions without control characters', async () => {
    const [line] = await linesFor(createProgram('0.0.0').command, ['task', '']);
    expect(line).toBe(`${TASK.id}\tRUNNING gear \\u001b[2J`);
  });

  it.skipIf(process.platform === 'win32')('can be sourced by bash twice, without a word', () => {
    const wb = path.join(import.meta.dirname, 'bin/wb.js');
    const source = `source <(${process.execPath} ${wb} complete bash)`;
    const { stdout, stderr, status } = spawnSync('bash', ['-c', `${source}; ${source}; complete -p wb`]);
    expect({ stdout: String(stdout), stderr: String(stderr), status }).toEqual({
      stdout: 'complete -o default -F __wb_complete wb\n',
      stderr: '',
      status: 0,
    });
  });
});
