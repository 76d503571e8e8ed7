import { describe, expect, it } from 'vitest';
import { fits, surplusLabels } from './matching.js';
import { matchesWildcard } from './wildcard.js';

describe('a wildcard', () => {
  it.each([
    ['9.1.0', '9.1.0', true],
    ['9.1.0', '9.1.01', false],
    ['9.*', '9.1.0', true],
    ['9.*', '9.', true],
    ['9.*', '8.9.1', false],
    ['*', '', true],
    ['?', '', false],
    ['?', 'x', true],
    ['9.?.0', '9.1.0', true],
    ['9.?.0', '9.12.0', false],
    ['*1*0', '9.1.0', true],
    ['*.1', '9.1.1', true],
    ['a**b', 'ab', true],
    ['', '', true],
    ['', 'x', false],
    ['9.1', '9.1*', false],
    ['.', 'x', false],
  ])('%j and %j: %s', (pattern, text, expected) => {
    expect(matchesWildcard(pattern, text)).toBe(expected);
  });

  it('takes no longer for a malicious pattern', () => {
    // A matcher that backtracks would not come to an end within the age of the universe.
    expect(matchesWildcard(`${'*a'.repeat(500)}b`, 'a'.repeat(5000))).toBe(false);
  });
});

describe('an instance', () => {
  const profile = { version: '9.1.0', labels: ['Gears', 'linux', 'fast'] };

  it('fits a bundle only if its program says that it runs points', () => {
    const needs = { version: null, labels: [], points: true } as const;
    expect(fits(needs, profile)).toBe(false);
    expect(fits(needs, { ...profile, runs: { scripts: ['Python'] } })).toBe(false);
    expect(fits(needs, { ...profile, runs: { points: true } })).toBe(true);
    expect(fits({ ...needs, version: '8.*' }, { ...profile, runs: { points: true } })).toBe(false);
  });

  it('fits a model that its program reads, and any while it does not say what it reads', () => {
    const needs = { version: null, labels: [], modelType: 'INP' };
    expect(fits(needs, profile)).toBe(true);
    expect(fits(needs, { ...profile, runs: { scripts: ['Python'] } })).toBe(true);
    expect(fits(needs, { ...profile, runs: { models: ['INP', 'MJCF'] } })).toBe(true);
    expect(fits(needs, { ...profile, runs: { models: ['MJCF'] } })).toBe(false);
    expect(fits(needs, { ...profile, runs: { models: [] } })).toBe(false);
    expect(fits({ version: null, labels: [] }, { ...profile, runs: { models: [] } })).toBe(true);
  });

  it('fits when its version matches and it carries every label, in any case', () => {
    expect(fits({ version: null, labels: [] }, profile)).toBe(true);
    expect(fits({ version: '9.*', labels: ['gears', 'linux'] }, profile)).toBe(true);
    expect(fits({ version: '8.*', labels: [] }, profile)).toBe(false);
    expect(fits({ version: null, labels: ['gears', 'windows'] }, profile)).toBe(false);
  });

  it('has as surplus labels those that are not required', () => {
    expect(surplusLabels({ version: null, labels: ['gears'] }, profile)).toBe(2);
    expect(surplusLabels({ version: null, labels: ['gears', 'linux', 'fast'] }, profile)).toBe(0);
  });
});
