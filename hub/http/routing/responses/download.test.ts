import { expect, test } from 'vitest';
import { attachment } from './download.js';

test.each([
  ['motion.csv', 'attachment; filename="motion.csv"'],
  ['two words; and more', 'attachment; filename="two words; and more"'],
  ['größe.csv', `attachment; filename="gr__e.csv"; filename*=UTF-8''gr%C3%B6%C3%9Fe.csv`],
  ['🔧.bin', `attachment; filename="__.bin"; filename*=UTF-8''%F0%9F%94%A7.bin`],
  ['a"b\\c', `attachment; filename="a_b_c"; filename*=UTF-8''a%22b%5Cc`],
  ["it's (50%)*", `attachment; filename="it's (50_)*"; filename*=UTF-8''it%27s%20%2850%25%29%2A`],
  [
    'line\r\nX-Other: header',
    `attachment; filename="line__X-Other: header"; filename*=UTF-8''line%0D%0AX-Other%3A%20header`,
  ],
])('the name %j reaches every client', (name, header) => {
  expect(attachment(name)).toBe(header);
});
