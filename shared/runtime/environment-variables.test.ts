import { expect, it } from 'vitest';
import { withVariables } from './environment-variables.js';

it('replaces variables of the same name, on Windows in any case of its letters', () => {
  const environment = { PATH: 'inherited', TEMP: 't' };
  expect(withVariables(environment, { Path: 'added' }, 'win32')).toEqual({ TEMP: 't', Path: 'added' });
  expect(withVariables(environment, { Path: 'added' }, 'linux')).toEqual({ ...environment, Path: 'added' });
  expect(withVariables(environment, { PATH: 'added' }, 'linux')).toEqual({ TEMP: 't', PATH: 'added' });
});
