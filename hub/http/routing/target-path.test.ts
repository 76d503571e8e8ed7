import type { IncomingMessage } from 'node:http';
import { expect, it } from 'vitest';
import { isSpelledLike, targetPathOf } from './target-path.js';

it.each([
  ['/a/b', '/a/b'],
  ['/a?b=/c', '/a'],
  ['http://hub:8080/a/b?c', '/a/b'],
  ['https://hub/a', '/a'],
  ['//hub/a', '//hub/a'],
  ['*', '*'],
])('the path of the target %s is %s', (url, path) => {
  expect(targetPathOf({ url } as IncomingMessage)).toBe(path);
});

it.each([
  ['/a/:id/b', '/a/%31/b', '/a/1/b', true],
  ['/a/:id/b', '/a/x%2Fy/b', '/a/x%2Fy/b', true],
  ['/a/:id/b', '/%61/1/b', '/a/1/b', false],
  ['/a/:id/b', '/a/1/%62', '/a/1/b', false],
  ['/a/:id/b', '/a/x/../1/b', '/a/1/b', false],
  ['/a/:id/b', '/a/./1/b', '/a/1/b', false],
  ['/a', '/a#b', '/a', false],
])('on the route %s, the target %s with the path %s is spelled alike: %s', (route, target, routed, is) => {
  expect(isSpelledLike(route, target, routed)).toBe(is);
});
