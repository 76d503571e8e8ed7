/** Access lists of Windows; `npm run test:windows` runs these tests. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import koffi from 'koffi';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { accessLists, accountsIn, serviceSid } from './access-lists.js';
import { WindowsError } from './foreign-functions.js';

const EVERYONE = 'S-1-1-0';
const SYSTEM = 'S-1-5-18';
const ADMINISTRATORS = 'S-1-5-32-544';

it('a service has the identity that Windows derives from its name', () => {
  // `sc showsid TrustedInstaller`.
  expect(serviceSid('TrustedInstaller')).toBe(
    'S-1-5-80-956008885-3418522649-1831038044-1853292631-2271478464',
  );
});

it('accounts with access are read from a descriptor', () => {
  const text = 'D:P(A;OICI;FA;;;SY)(A;OICI;FA;;;BA)(D;;FA;;;S-1-5-7)(A;ID;0x1200a9;;;S-1-5-21-1-2-3-500)';
  expect(accountsIn(text)).toEqual([SYSTEM, ADMINISTRATORS, 'S-1-5-21-1-2-3-500']);
});

describe.skipIf(process.platform !== 'win32')('on Windows', () => {
  let folder: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'access-lists-'));
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  it('a restricted folder is that of this user, the system and administrators, also what is below', () => {
    const lists = accessLists(koffi);
    mkdirSync(join(folder, 'data'));
    writeFileSync(join(folder, 'data/old.txt'), 'x');
    lists.restrict(join(folder, 'data'), 'folder');
    writeFileSync(join(folder, 'data/new.txt'), 'x');
    for (const name of ['data', 'data/new.txt']) {
      const accounts = lists.accountsWithAccess(join(folder, name));
      expect(accounts, name).toContain(lists.ownSid);
      expect(accounts, name).not.toContain(EVERYONE);
    }
  });

  it('a restricted file can still be read', () => {
    const lists = accessLists(koffi);
    const file = join(folder, 'agent.yaml');
    writeFileSync(file, 'x');
    lists.restrict(file, 'file', { [serviceSid('workbench-agent')]: 'FR' });
    expect(lists.accountsWithAccess(file)).not.toContain(EVERYONE);
  });

  it('a path that is not there is an error of Windows', () => {
    expect(() => accessLists(koffi).restrict(join(folder, 'none'), 'file')).toThrow(WindowsError);
  });
});
