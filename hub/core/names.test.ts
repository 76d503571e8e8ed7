import { describe, expect, it } from 'vitest';
import { escapedName, likenessFault, likenessOf } from './names.js';

describe('a name', () => {
  it.each([
    ...['anna', 'Anna Õ', 'Øyvind', 'Nguyễn Văn', 'O’Brien', 'user_1@example.org', '4711', '🙂'],
    ...[
      'Иванов-Петров',
      'Ωνάσης',
      '田中 太郎',
      'Tanaka 太郎',
      'たなか カズ',
      '한국 Kim',
      'प्रिया',
      'ก้อง',
      'محمد',
    ],
  ])('such as %s is accepted', (name) => {
    expect(likenessFault(name)).toBeUndefined();
  });

  it.each([
    ['\uff41nna', /full-width/],
    ['\ufb01ona', /full-width/],
    ['\u{1d41a}nna', /full-width/],
    ['\u0430nna', /different scripts/],
    ['paypa\u04cf', /different scripts/],
    ['\u03a9mega', /different scripts/],
    ['a\u3164b', /cannot be seen/],
    ['a\u034fb', /cannot be seen/],
    ['a\ufe0fb', /cannot be seen/],
    ['a\u2800b', /cannot be seen/],
    ['\u0301a', /marks/],
    [`a${'\u0316'.repeat(4)}`, /marks/],
  ])('such as %j is refused: %s', (name, fault) => {
    expect(likenessFault(name)).toMatch(fault);
  });
});

it.each([
  ['coco', '\u0441\u043e\u0441\u043e'],
  ['linus', 'Iinus'],
  ['linus', '1inus'],
  ['admin', 'adrnin'],
  ['ADMIN', 'admin'],
  ['root', 'r00t'],
  ['anna', '\uff41nna'],
])('%s looks like %j', (name, other) => {
  expect(likenessOf(other)).toBe(likenessOf(name));
});

it.each([
  ['anna', 'anne'],
  ['jose', 'jos\u00e9'],
])('%s does not look like %s', (name, other) => {
  expect(likenessOf(other)).not.toBe(likenessOf(name));
});

it('is shown by its code points', () => {
  expect(escapedName('a"\n\u0430\u{1f642}\u202e')).toBe(String.raw`"a\"\n\u{430}\u{1f642}\u{202e}"`);
  expect(escapedName('~\u007f ')).toBe(String.raw`"~\u{7f} "`);
});
