import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { ownProgram } from './own-program.js';

const ROOT = 0;
const ANNA = 1001;
const AGENT = 1002;

let versions: string;
let program: string;
/** Owners of paths; the others belong to root. */
let owners: Map<string, number>;

beforeEach(() => {
  versions = join(realpathSync(mkdtempSync(join(tmpdir(), 'own-program-'))), 'versions');
  program = join(versions, 'new', 'workbench-agent');
  mkdirSync(dirname(program), { recursive: true });
  writeFileSync(program, '');
  owners = new Map();
  own(AGENT, versions, dirname(program), program);
});
afterEach(() => rmSync(dirname(versions), { recursive: true }));

const own = (owner: number, ...paths: string[]) => paths.forEach((path) => void owners.set(path, owner));
const of = (userId: number | undefined) => ({
  userId,
  ownerOf: async (path: string) => owners.get(path) ?? ROOT,
});

it('is run by its owner', async () => {
  expect(await ownProgram(program, of(AGENT))).toBe(program);
  own(ROOT, versions, dirname(program), program);
  expect(await ownProgram(program, of(ROOT))).toBe(program);
});

it.each([ROOT, ANNA])('of the account of the agent is not run by user %i', async (userId) => {
  expect(await ownProgram(program, of(userId))).toBeNull();
});

it('is not run in a folder where another user could replace it', async () => {
  own(ROOT, dirname(program), program);
  expect(await ownProgram(program, of(ROOT))).toBeNull();
});

it('is not run by a link that leads to the program of another user', async () => {
  const link = join(dirname(versions), 'link');
  symlinkSync(versions, link);
  own(ROOT, link);
  expect(await ownProgram(join(link, 'new', 'workbench-agent'), of(ROOT))).toBeNull();
  expect(await ownProgram(join(link, 'new', 'workbench-agent'), of(AGENT))).toBe(program);
});

it('is not run when it is gone, or where users have no ids', async () => {
  expect(await ownProgram(join(versions, 'old', 'workbench-agent'), of(AGENT))).toBeNull();
  expect(await ownProgram(program, of(undefined))).toBeNull();
});

it.skipIf(process.platform === 'win32')(
  'is run by the user of this process, who has written it',
  async () => {
    expect(await ownProgram(program)).toBe(program);
  },
);
