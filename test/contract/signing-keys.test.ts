/** Keys that sign access tokens: created once, kept private, and rotated without ending sessions (contract 8.3). */
import { chmod, mkdir, readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import {
  openSigningKeys,
  rotateSigningKeys,
  type SigningKeys,
} from '@workbench-hub/hub/security/signing-keys';
import { replacePrivateFile } from '@workbench-hub/shared/runtime/private-files';
import { StartRefused } from '@workbench-hub/shared/runtime/run-program';
import { systemRuntime } from '@workbench-hub/shared/runtime/system-runtime';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { HandDrivenRuntime } from '../support/engine/hand-driven-runtime.js';
import { loggedInBy, logIn, refresh, statusFor } from '../support/hubs/login.js';
import { startHub, USERS } from '../support/hubs/running-hub.js';
import { Api } from '../support/interface/api.js';
import { LOG_LEVEL, memoryLog } from '../support/memory-log.js';
import { type TemporaryFolder, temporaryFolder } from '../support/temporary-folder.js';

const LIFETIME_MS = 15 * 60_000;
const SECOND_MS = 1000;

let folder: TemporaryFolder;
let dataDir: string;
let path: string;
let time: HandDrivenRuntime;
beforeEach(async () => {
  folder = await temporaryFolder();
  dataDir = join(folder.path, 'data');
  path = join(dataDir, 'token-keys.json');
  time = new HandDrivenRuntime();
});
afterEach(() => folder.remove());

const options = () => ({ dataDir, lifetimeMs: LIFETIME_MS, clock: time.clock });
const open = () => openSigningKeys({ ...options(), log: memoryLog().log });
const rotate = () => rotateSigningKeys(options());
const keysInFile = async () =>
  (JSON.parse(await readFile(path, 'utf8')) as { keys: { kid: string; supersededAt: string | null }[] }).keys;

function kidOf(accessToken: string): string {
  const [header = ''] = accessToken.split('.');
  return (JSON.parse(Buffer.from(header, 'base64url').toString()) as { kid: string }).kid;
}

describe('the file of signing keys', () => {
  it('is created at the first start, for the user of the hub only, without temporary files', async () => {
    const key = await (await open()).newest();
    expect(key.secret).toHaveLength(32);
    expect((await stat(path)).mode & 0o777).toBe(0o600);
    expect(await readdir(dataDir)).toEqual(['token-keys.json']);
    expect((await (await open()).newest()).kid).toBe(key.kid);
  });

  it('is the same for several simultaneous starts', async () => {
    const all = await Promise.all(Array.from({ length: 10 }, open));
    const kids = await Promise.all(all.map(async (keys) => (await keys.newest()).kid));
    expect(new Set(kids).size).toBe(1);
    expect(await readdir(dataDir)).toEqual(['token-keys.json']);
  });

  it.each([
    ['is empty', ''],
    ['is no JSON', '{"keys":'],
    ['holds no keys', '{"keys":[]}'],
    ['holds a short key', '{"keys":[{"kid":"12345678","secret":"AAAA","supersededAt":null}]}'],
    ['holds something else', '[]'],
  ])('prevents the start when it %s', async (_, text) => {
    await open();
    await writeFile(path, text);
    const refusal = await open().catch((error: unknown) => error);
    expect(refusal).toBeInstanceOf(StartRefused);
    expect((refusal as StartRefused).message).toMatch(
      /token-keys\.json holds no signing keys: restore it, or remove it/,
    );
  });

  it.skipIf(process.platform === 'win32')(
    'prevents the start when others can read it, with what to do',
    async () => {
      await open();
      await chmod(path, 0o640);
      await expect(open()).rejects.toThrow(
        /may be read by other users \(mode 640\).*chmod 600 .*keys rotate/,
      );
      await expect(startHub({ users: USERS, dataDir })).rejects.toBeInstanceOf(StartRefused);
    },
  );

  it('prevents the start when it cannot be read', async () => {
    await startHub({ dataDir }).then((hub) => hub.stop());
    await mkdir(path, { mode: 0o700 });
    await expect(open()).rejects.toThrow(/token-keys\.json cannot be read \(EISDIR\)/);
  });

  it('is not created while security is off', async () => {
    const hub = await startHub({ dataDir });
    await hub.stop();
    expect(await readdir(dataDir)).not.toContain('token-keys.json');
  });
});

describe('a rotation of signing keys', () => {
  it('activates a new key and keeps the old one as long as its tokens are valid', async () => {
    const keys = await open();
    const { kid: first } = await keys.newest();
    const second = await rotate();
    time.skip(SECOND_MS);
    expect((await keys.newest()).kid).toBe(second);
    expect((await keys.find(first))?.kid).toBe(first);
    time.skip(LIFETIME_MS + 60_000);
    expect(await keys.find(first)).toBeUndefined();
    expect((await keys.find(second))?.kid).toBe(second);
    const third = await rotate();
    expect((await keysInFile()).map(({ kid }) => kid)).toEqual([third, second]);
    expect((await stat(path)).mode & 0o777).toBe(0o600);
    expect(await readdir(dataDir)).toEqual(['token-keys.json']);
  });

  it('several times in a row keeps all keys with valid tokens', async () => {
    const keys = await open();
    const all = [(await keys.newest()).kid];
    for (let at = 0; at < 5; at++) all.push(await rotate());
    time.skip(SECOND_MS);
    for (const kid of all) expect((await keys.find(kid))?.kid).toBe(kid);
  });

  it('is noticed when a token names the new key, at most once a second', async () => {
    const keys = await open();
    const kid = await rotate();
    expect(await keys.find(kid)).toBeUndefined();
    time.skip(SECOND_MS);
    expect((await keys.find(kid))?.kid).toBe(kid);
  });

  it('with a damaged file keeps the known keys in use, and is logged', async () => {
    const { log, lines } = memoryLog();
    const keys = await openSigningKeys({ ...options(), log });
    const { kid } = await keys.newest();
    await writeFile(path, 'broken');
    for (let at = 0; at < 3; at++) {
      time.skip(SECOND_MS);
      expect((await keys.newest()).kid).toBe(kid);
    }
    expect(lines.filter(({ level }) => level === LOG_LEVEL.ERROR)).toHaveLength(1);
  });

  it('logs nobody out of a running hub, which signs with the new key without a restart', async () => {
    const hub = await startHub({ users: USERS, dataDir, runtime: { ...systemRuntime, clock: time.clock } });
    const api = new Api(hub);
    const before = await logIn(api, 'ulla');
    const kid = await rotate();
    time.skip(SECOND_MS);
    // A key that hubs can share signs two seconds after its hub has noticed it.
    const noticed = await logIn(api, 'udo');
    time.skip(2 * SECOND_MS);
    const renewed = loggedInBy(await refresh(api, before.cookie));
    const after = await logIn(api, 'udo');
    expect(kidOf(before.accessToken)).not.toBe(kid);
    expect([renewed, after].map(({ accessToken }) => kidOf(accessToken))).toEqual([kid, kid]);
    for (const { accessToken } of [before, noticed, renewed, after])
      expect(await statusFor(api, accessToken)).toBe(200);
    await hub.stop();

    const restarted = await startHub({
      users: USERS,
      dataDir,
      runtime: { ...systemRuntime, clock: time.clock },
    });
    for (const { accessToken } of [before, noticed, renewed, after]) {
      expect(await statusFor(new Api(restarted), accessToken)).toBe(200);
    }
    await restarted.stop();
  });
});

describe('a rotation of signing keys that hubs share', () => {
  let shared: string;
  let a: SigningKeys;
  let b: SigningKeys;
  /** Condition of the next looks. */
  let gate: Promise<void>;
  beforeEach(async () => {
    gate = Promise.resolve();
    a = await open();
    shared = await readFile(path, 'utf8');
    a = await openShared(dataDir);
    b = await openShared(join(folder.path, 'other'));
    time.skip(SECOND_MS);
    expect((await b.newest()).kid).toBe((await a.newest()).kid);
    time.skip(SECOND_MS);
  });

  async function openShared(at: string): Promise<SigningKeys> {
    const own = join(at, 'token-keys.json');
    await mkdir(at, { recursive: true, mode: 0o700 });
    await replacePrivateFile(own, shared);
    let former = shared;
    const share = async () => {
      await gate;
      const content = await readFile(own, 'utf8');
      if (content !== former && shared === former) shared = content;
      if (content !== shared) await replacePrivateFile(own, shared);
      former = shared;
    };
    return openSigningKeys({ ...options(), dataDir: at, share, log: memoryLog().log });
  }

  it('signs with the new key once each hub would find it', async () => {
    const { kid: first } = await a.newest();
    time.skip(SECOND_MS);
    await b.newest();
    const second = await rotate();
    const signed: string[] = [];
    for (let tenths = 0; tenths <= 20; tenths++) {
      const { kid } = await a.newest();
      expect((await b.find(kid))?.kid).toBe(kid);
      signed.push(kid);
      // A login at B, which does not look again for a second.
      if (tenths % 10 === 9) await b.newest();
      time.skip(SECOND_MS / 10);
    }
    expect(new Set(signed)).toEqual(new Set([first, second]));
    expect(signed.indexOf(second)).toBe(20);
  });

  it('signs with it at once when tokens of the old key would outlive that', async () => {
    const second = await rotate();
    time.skip(30 * SECOND_MS);
    expect((await a.newest()).kid).toBe(second);
  });

  it('signs with it at once when the old key was removed', async () => {
    const { kid: first } = await a.newest();
    time.skip(SECOND_MS);
    await rotate();
    const [newest] = await keysInFile();
    await replacePrivateFile(path, JSON.stringify({ keys: [newest] }));
    expect((await a.newest()).kid).toBe(newest?.kid);
    expect(await a.find(first)).toBeUndefined();
  });

  it('is noticed by all who ask while a hub looks', async () => {
    const second = await rotate();
    await a.newest();
    let release = () => {};
    gate = new Promise((resolve) => {
      release = resolve;
    });
    const both = [b.find(second), b.find(second)];
    release();
    expect((await Promise.all(both)).map((key) => key?.kid)).toEqual([second, second]);
  });
});
