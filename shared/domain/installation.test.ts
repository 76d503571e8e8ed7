import { describe, expect, it } from 'vitest';
import {
  contradictsPlatform,
  installationOn,
  knownInstallation,
  platformLabels,
  UNKNOWN_INSTALLATION,
} from './installation.js';

describe('an installation', () => {
  it('names systems by their usual names', () => {
    expect(installationOn('FILE', { platform: 'win32', arch: 'x64' })).toEqual({
      ...{ kind: 'FILE', os: 'windows', arch: 'x64' },
    });
    expect(installationOn('NPM', { platform: 'darwin', arch: 'arm64' }).os).toBe('macos');
    expect(installationOn('DEBIAN', { platform: 'linux', arch: 'arm64' }).os).toBe('linux');
  });

  it('of a later version leaves out only what is not known', () => {
    expect(knownInstallation({ kind: 'FLATPAK', os: 'linux', arch: 'quantum' })).toEqual({
      ...{ kind: null, os: 'linux', arch: null },
    });
  });

  it('that nobody told is unknown', () => {
    expect(knownInstallation({})).toEqual(UNKNOWN_INSTALLATION);
    expect(installationOn(null, { platform: 'haiku', arch: 'mips' })).toEqual(UNKNOWN_INSTALLATION);
  });
});

describe('the labels of a system', () => {
  const WINDOWS = { os: 'windows', arch: 'x64' } as const;

  it('name what is known of it', () => {
    expect(platformLabels(WINDOWS)).toEqual(['os:windows', 'arch:x64']);
    expect(platformLabels({ os: 'linux', arch: null })).toEqual(['os:linux']);
    expect(platformLabels(UNKNOWN_INSTALLATION)).toEqual([]);
  });

  it.each([
    ['gears', false],
    ['Os:Windows', false],
    ['arch:x64', false],
    ['os:linux', true],
    ['ARCH:arm64', true],
    ['macos:13', false],
  ])('are contradicted by %s: %s', (label, isContradicted) => {
    expect(contradictsPlatform(label, WINDOWS)).toBe(isContradicted);
  });
});
