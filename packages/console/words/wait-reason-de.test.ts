import { expect, it } from 'vitest';
import { germanReason } from './wait-reason-de.js';

const none = { satisfyingAll: 0, idle: 0, busy: 0, down: 0, unreachable: 0, drained: 0 };

type Reason = Parameters<typeof germanReason>[0];

it.each<[Reason, string]>([
  [
    {
      verdict: 'NEVER',
      unsatisfied: [
        { type: 'VERSION', value: '12.*' },
        { type: 'LABLES', value: 'gpu' },
        { type: 'MODEL', value: 'INP' },
      ],
      instances: none,
    },
    'Keine bekannte Instanz bietet Version „12.*“, Label „gpu“, Modelle vom Typ „INP“.',
  ],
  [{ verdict: 'NEVER', unsatisfied: [], instances: none }, 'Keine bekannte Instanz passt.'],
  [
    { verdict: 'NONE_UP', unsatisfied: [], instances: { ...none, satisfyingAll: 3, down: 2, drained: 1 } },
    '3 Instanzen passen, nehmen aber nichts an: 2 aus, 1 stillgelegt.',
  ],
  [
    { verdict: 'NONE_UP', unsatisfied: [], instances: { ...none, satisfyingAll: 1, ending: 1 } },
    '1 Instanz passt, nimmt aber nichts an: 1 auf Rechnern, deren Zeit nicht reicht.',
  ],
  [
    { verdict: 'COMING', unsatisfied: [], instances: none, recipes: ['gears'] },
    'Keine Instanz, die Aufgaben annimmt, passt; „gears“ kann passende Rechner bringen.',
  ],
  [
    { verdict: 'COMING', unsatisfied: [], instances: none, recipes: ['gears', 'belts'] },
    'Keine Instanz, die Aufgaben annimmt, passt; „gears“, „belts“ können passende Rechner bringen.',
  ],
  [
    { verdict: 'BUSY', unsatisfied: [], instances: { ...none, satisfyingAll: 1, busy: 1 } },
    '1 passende Instanz ist beschäftigt.',
  ],
  [
    {
      verdict: 'SOON',
      unsatisfied: [],
      instances: { ...none, satisfyingAll: 3, idle: 3 },
      kinds: [
        { runs: { models: ['MJCF', 'XML'], scripts: ['JavaScript'] }, instances: 2 },
        { runs: { scripts: ['Python'] }, instances: 1 },
      ],
    },
    '3 passende Instanzen sind frei. Die passenden Instanzen sind verschiedener Art: 2 für Modelle vom Typ MJCF, XML, ' +
      'Skripte in JavaScript; 1 für Modelle jeden Typs, Skripte in Python. Verlangen Sie ein Label, das nur die richtigen haben.',
  ],
])('says %j in German', (reason, text) => {
  expect(germanReason(reason)).toBe(text);
});
