import { expect, it } from 'vitest';
import { BodyChunks } from './body-chunks.js';

it('a body may have 5000 chunks of any size, and any number of chunks of 16 bytes', () => {
  const chunks = new BodyChunks();
  for (let at = 0; at < 5000; at++) expect(chunks.errorOf(1)).toBeUndefined();
  expect(chunks.errorOf(1)).toMatchObject({
    code: 'INVALID_INPUT',
    message: 'body: comes in more than 5000 chunks of less than 16 bytes: send larger ones',
  });
  const larger = new BodyChunks();
  for (let at = 0; at < 100_000; at++) expect(larger.errorOf(16)).toBeUndefined();
});
