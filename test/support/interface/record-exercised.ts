/** Set-up file of every test file: passes its counts to the reporter, also where files share a process. */
import { afterAll } from 'vitest';
import { takeExercised } from './exercised.js';

// biome-ignore lint/correctness/noEmptyPattern: vitest insists on a pattern here
afterAll(({}, file) => {
  const exercised = takeExercised();
  if (exercised) file.meta.exercised = exercised;
});
