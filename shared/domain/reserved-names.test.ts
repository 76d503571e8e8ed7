import { expect, test } from 'vitest';
import { isDeviceName, windowsPathFault } from './reserved-names.js';

test.each(['CON', 'nul', 'Aux.txt', 'prn.tar.gz', 'COM1', 'com9.log', 'LPT0', 'lpt³', 'con .txt', 'CONIN$'])(
  '%s is a device',
  (name) => {
    expect(isDeviceName(name)).toBe(true);
    expect(windowsPathFault(`out/${name}/a`)).toMatch(/is a device on Windows$/);
  },
);

test.each(['console', 'nul1', 'com', 'com10', 'a.con', 'aux-1.txt', 'lpt1x.txt', '.nul', 'CON_.txt'])(
  '%s is no device',
  (name) => {
    expect(isDeviceName(name)).toBe(false);
    expect(windowsPathFault(`out/${name}/a`)).toBeUndefined();
  },
);

test.each([
  ['a/b.', 'must not have a part that ends with a dot or a space, as "b."'],
  ['a /b', 'must not have a part that ends with a dot or a space, as "a "'],
  ['a:b', 'must not contain :, which Windows keeps for itself'],
  ['what?', 'must not contain ?, which Windows keeps for itself'],
])('%s is impossible on Windows', (path, fault) => {
  expect(windowsPathFault(path)).toBe(fault);
});
