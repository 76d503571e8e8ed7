import { describe, expect, it } from 'vitest';
import { installationOn, knownInstallation, UNKNOWN_INSTALLATION } from './installation.js';

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
