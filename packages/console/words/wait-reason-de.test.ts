import { expect, it } from 'vitest';
import { germanReason } from './wait-reason-de.js';

const none = { satisfyingAll: 0, idle: 0, busy: 0, down: 0, unreachable: 0, drained: 0 };

it.each([
  [
    {
      verdict: 'NEVER',
      unsatisfied: [
        { type: 'VERSION', value: '12.*' },
        { type: 'LABLES', value: 'gpu' },
      ],
      instances: none,
    },
    'Keine bekannte Instanz bietet Version „12.*“, Label „gpu“.',
  ],
  [{ verdict: 'NEVER', unsatisfied: [], instances: none }, 'Keine bekannte Instanz passt.'],
  [
    { verdict: 'NONE_UP', unsatisfied: [], instances: { ...none, satisfyingAll: 3, down: 2, drained: 1 } },
    '3 Instanzen passen, nehmen aber nichts an: 2 aus, 1 stillgelegt.',
  ],
  [
    { verdict: 'BUSY', unsatisfied: [], instances: { ...none, satisfyingAll: 1, busy: 1 } },
    '1 passende Instanz ist beschäftigt.',
  ],
] as const)('says %j in German', (reason, text) => {
  expect(germanReason({ ...reason, unsatisfied: [...reason.unsatisfied] })).toBe(text);
});
