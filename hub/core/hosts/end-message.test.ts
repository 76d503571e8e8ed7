import { expect, it } from 'vitest';
import { endedByItself } from './allocation.js';
import { reasonOf, withOutput } from './end-message.js';

it('has the end of the output after the reason, if there is any', () => {
  expect(withOutput('FAILED', ' \n')).toBe('FAILED');
  expect(withOutput('FAILED', 'not found\n')).toBe('FAILED; its output ends with: not found');
  expect(withOutput('FAILED', `${'x'.repeat(3000)}y`)).toMatch(/with: x{1999}y$/);
  expect(reasonOf('FAILED')).toBe('FAILED');
  expect(reasonOf(withOutput('FAILED', withOutput('a', 'b')))).toBe('FAILED');
});

it('says by its reason alone whether the job was preempted', () => {
  const isByItself = (message: string) => endedByItself({ cause: 'ENDED_EARLY', message });
  expect(isByItself(withOutput('OUT_OF_MEMORY', 'may be preempted'))).toBe(true);
  expect(isByItself(withOutput('PREEMPTED', 'all is well'))).toBe(false);
});
