import { describe, expect, it } from 'vitest';
import { allocationSecrets } from './allocation-secrets.js';

const KEY = Buffer.alloc(32, 1);

describe('the secret of an allocation', () => {
  const secrets = allocationSecrets(KEY);

  it('is the same for all hubs with the same key, and differs by allocation', () => {
    const secret = secrets.of('gears-a');
    expect(allocationSecrets(Buffer.alloc(32, 1)).of('gears-a')).toBe(secret);
    expect(secrets.of('gears-b')).not.toBe(secret);
    expect(secrets.idOf(secret)).toBe('gears-a');
  });

  it('is refused when it is changed, of another key or of another form', () => {
    const secret = secrets.of('gears-a');
    const last = secret.endsWith('A') ? 'E' : 'A';
    const forged = [
      `${secret.slice(0, -1)}${last}`,
      secret.replace('gears-a', 'gears-b'),
      `${secret}A`,
      secret.slice(4),
      `wba.gears-a.`,
      '',
      allocationSecrets(Buffer.alloc(32, 2)).of('gears-a'),
    ];
    expect(forged.map((each) => secrets.idOf(each))).toEqual(forged.map(() => null));
  });
});
