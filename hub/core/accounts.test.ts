import { describe, expect, it } from 'vitest';
import { formatPasswordHash, isUsername, parsePasswordHash, passwordError } from './accounts.js';

const SALT = 'A'.repeat(22);
const HASH = 'B'.repeat(43);

describe('a username', () => {
  it.each(['a', 'Anna', '0', 'anna.smith@example.com', 'a_b-c', 'x'.repeat(64)])('may be %s', (text) => {
    expect(isUsername(text)).toBe(true);
  });

  it.each(['', '.a', '-a', '@a', '_a', 'a b', 'a/b', '../a', 'a\n', 'ä', 'a,b', 'x'.repeat(65), 'a\0'])(
    'may not be %j',
    (text) => {
      expect(isUsername(text)).toBe(false);
    },
  );
});

describe('a new password', () => {
  it.each(['12345678', ' '.repeat(8), 'ä'.repeat(1024), 'correct horse battery staple'])(
    'may be %j',
    (text) => {
      expect(passwordError(text)).toBeUndefined();
    },
  );

  it.each([
    ['1234567', /8 to 1024 characters, this one has 7$/],
    ['', /this one has 0$/],
    ['x'.repeat(1025), /this one has 1025$/],
    ['12345678\n', /no line breaks/],
    ['12345678\0', /no other control characters/],
  ])('may not be %j', (text, fault) => {
    expect(passwordError(text)).toMatch(fault);
  });
});

describe('a stored password', () => {
  it('is read as it was written', () => {
    const parts = { cost: { ln: 15, r: 8, p: 3 }, salt: SALT, hash: HASH };
    expect(formatPasswordHash(parts)).toBe(`$scrypt$ln=15,r=8,p=3$${SALT}$${HASH}`);
    expect(parsePasswordHash(formatPasswordHash(parts))).toEqual(parts);
  });

  it.each([
    ['nothing', ''],
    ['the password itself', 'correct horse'],
    ['another function', `$argon2id$v=19$m=65536,t=3,p=4$${SALT}$${HASH}`],
    ['too much memory', `$scrypt$ln=18,r=8,p=1$${SALT}$${HASH}`],
    ['very much memory', `$scrypt$ln=99,r=99,p=1$${SALT}$${HASH}`],
    ['too many rounds', `$scrypt$ln=15,r=8,p=9$${SALT}$${HASH}`],
    ['no cost to speak of', `$scrypt$ln=1,r=1,p=1$${SALT}$${HASH}`],
    ['no rounds', `$scrypt$ln=15,r=8,p=0$${SALT}$${HASH}`],
    ['a negative cost', `$scrypt$ln=-1,r=8,p=1$${SALT}$${HASH}`],
    ['parameters in another order', `$scrypt$r=8,ln=15,p=3$${SALT}$${HASH}`],
    ['no salt', `$scrypt$ln=15,r=8,p=3$$${HASH}`],
    ['a short hash', `$scrypt$ln=15,r=8,p=3$${SALT}$BBBB`],
    ['a very long hash', `$scrypt$ln=15,r=8,p=3$${SALT}$${'B'.repeat(10_000)}`],
    ['letters that are no Base64', `$scrypt$ln=15,r=8,p=3$${SALT}$${'_'.repeat(43)}`],
    ['a line break at its end', `$scrypt$ln=15,r=8,p=3$${SALT}$${HASH}\n`],
    ['something before it', ` $scrypt$ln=15,r=8,p=3$${SALT}$${HASH}`],
  ])('is invalid with %s', (_, text) => {
    expect(parsePasswordHash(text)).toBeUndefined();
  });
});
