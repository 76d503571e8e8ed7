import { homedir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { profilesFile } from './profiles.js';

const NAME = ['workbench-hub', 'profiles.json'];

it('keeps the profiles where the Python client looks for them', () => {
  const env = { APPDATA: 'roaming', XDG_CONFIG_HOME: 'config' };
  expect(profilesFile(env, 'win32')).toBe(join('roaming', ...NAME));
  expect(profilesFile(env, 'linux')).toBe(join('config', ...NAME));
  expect(profilesFile({}, 'win32')).toBe(join(homedir(), 'AppData', 'Roaming', ...NAME));
  expect(profilesFile({}, 'linux')).toBe(join(homedir(), '.config', ...NAME));
  for (const system of ['win32', 'linux'] as const)
    expect(profilesFile({ ...env, WB_PROFILES: 'own.json' }, system)).toBe('own.json');
});
