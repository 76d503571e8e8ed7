import { describe, expect, it } from 'vitest';
import { changedKeys } from './changed-keys.js';

describe('the changed keys of a configuration', () => {
  it('are named by their paths', () => {
    const before = { a: 1, group: { b: 2, deep: { c: 3 } }, list: [{ id: 'x' }] };
    expect(changedKeys(before, structuredClone(before))).toEqual([]);
    const after = { a: 2, group: { b: 2, deep: { c: 4 } }, list: [{ id: 'y' }] };
    expect(changedKeys(before, after)).toEqual(['a', 'group.deep.c', 'list']);
  });

  it('have a group that appears or disappears as one value', () => {
    const tls = { cert: 'a', key: 'b' };
    expect(changedKeys({ server: { tls: null } }, { server: { tls } })).toEqual(['server.tls']);
    expect(changedKeys({ server: { tls } }, { server: { tls: null } })).toEqual(['server.tls']);
    expect(changedKeys({ headers: {} }, { headers: { Authorization: 'secret' } })).toEqual([
      'headers.Authorization',
    ]);
  });
});
