import { describe, expect, it } from 'vitest';
import { parsePasswordHash } from '../core/accounts.js';
import { scryptPasswords } from './passwords.js';

const quick = scryptPasswords({ ln: 10, r: 8, p: 1 });

describe('passwords', () => {
  it('are verified, and others are refused', async () => {
    const hash = await quick.hash('correct horse');
    expect(await quick.verify('correct horse', hash)).toBe(true);
    for (const other of ['correct hors', 'correct horse ', 'Correct horse', '', 'correct horse\0']) {
      expect(await quick.verify(other, hash), JSON.stringify(other)).toBe(false);
    }
  });

  it('are hashed at the intended cost, each with its own salt', async () => {
    const passwords = scryptPasswords();
    const [one, other] = [await passwords.hash('correct horse'), await passwords.hash('correct horse')];
    expect(one).not.toBe(other);
    expect(parsePasswordHash(one)?.cost).toEqual({ ln: 15, r: 8, p: 3 });
    expect(await quick.verify('correct horse', one)).toBe(true);
  });

  it('are the same however their letters are composed', async () => {
    const hash = await quick.hash('Schlüssel'.normalize('NFC'));
    expect(await quick.verify('Schlüssel'.normalize('NFD'), hash)).toBe(true);
  });

  it('match no unreadable hash', async () => {
    expect(await quick.verify('', '')).toBe(false);
  });
});
