import { expect, it } from 'vitest';
import { environmentOf } from './launch.js';
import { COOKIE_VARIABLE } from './platform.js';

const OPTIONS = { environment: { PATH: 'inherited', TEMP: 't' }, cookie: 'c', sandbox: null };
const command = (env: Record<string, string>) => ({ command: ['tool'], env });

it('searches the configured Path of an instance on Windows, in any case of its letters', () => {
  const { PATH = '', ...others } = environmentOf(command({ Path: 'configured' }), OPTIONS, 'win32');
  expect(PATH).toContain('configured');
  expect(PATH).not.toContain('inherited');
  expect(others).toEqual({ TEMP: 't', [COOKIE_VARIABLE]: 'c' });
});

it('has two variables on Linux', () => {
  const environment = environmentOf(command({ Path: 'configured' }), OPTIONS, 'linux');
  expect(environment['PATH']).toContain('inherited');
  expect(environment['Path']).toBe('configured');
});
