import { expect, it } from 'vitest';
import { BodyChunks } from './body-chunks.js';

it('lets a body come in 5000 pieces of any size, and in any number of pieces of 16 bytes', () => {
  const pieces = new BodyChunks();
  for (let at = 0; at < 5000; at++) expect(pieces.faultOf(1)).toBeUndefined();
  expect(pieces.faultOf(1)).toMatchObject({
    code: 'INVALID_INPUT',
    message: 'body: comes in more than 5000 chunks of less than 16 bytes: send larger ones',
  });
  const larger = new BodyChunks();
  for (let at = 0; at < 100_000; at++) expect(larger.faultOf(16)).toBeUndefined();
});
