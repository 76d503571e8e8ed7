/** Why a task waits, in German, from the data of the hub; in English the hub's own sentences are shown. */
import type { TaskItem } from '@workbench-hub/client';
import { numberText } from './formats.js';
import { kindText } from './job-kind.js';

type WaitReason = NonNullable<TaskItem['waitReason']>;

const de = {
  never: (criteria: string) =>
    criteria === '' ? 'Keine bekannte Instanz passt.' : `Keine bekannte Instanz bietet ${criteria}.`,
  criteria: { VERSION: 'Version', LABLES: 'Label', MODEL: 'Modelle vom Typ', POINTS: 'Punkte in' },
  noneUp: (count: string, states: string) =>
    `${count === '1' ? '1 Instanz passt, nimmt aber nichts an' : `${count} Instanzen passen, nehmen aber nichts an`}: ${states}.`,
  down: (count: string) => `${count} aus`,
  unreachable: (count: string) => `${count} nicht erreichbar`,
  drained: (count: string) => `${count} stillgelegt`,
  kept: (count: string) => `${count} nur für andere Hubs`,
  ending: (count: string) => `${count} auf Rechnern, deren Zeit nicht reicht`,
  coming: (recipes: string, can: string) =>
    `Keine Instanz, die Aufgaben annimmt, passt; ${recipes} ${can} passende Rechner bringen.`,
  busy: (count: string) =>
    count === '1' ? '1 passende Instanz ist beschäftigt.' : `${count} passende Instanzen sind beschäftigt.`,
  soon: (count: string) =>
    count === '1' ? '1 passende Instanz ist frei.' : `${count} passende Instanzen sind frei.`,
  kinds: (kinds: string) =>
    `Die passenden Instanzen sind verschiedener Art: ${kinds}. Verlangen Sie ein Label, das nur die richtigen haben.`,
  paused: 'Der Hub beginnt keine Aufgaben, weil er heruntergefahren werden soll.',
};

/** Why a task waits, and a warning of fitting instances of different kinds. */
export function germanReason(reason: WaitReason): string {
  const { kinds = [] } = reason;
  if (kinds.length === 0) return verdictText(reason);
  const named = kinds.map(
    ({ runs, instances }) => `${numberText(instances, 'de')} für ${kindText(runs, 'de')}`,
  );
  return `${verdictText(reason)} ${de.kinds(named.join('; '))}`;
}

function verdictText({ verdict, unsatisfied, instances, recipes = [] }: WaitReason): string {
  const number = (value: number) => numberText(value, 'de');
  const states = (['down', 'unreachable', 'drained', 'kept', 'ending'] as const).filter(
    (state) => (instances[state] ?? 0) > 0,
  );
  switch (verdict) {
    case 'NEVER':
      return de.never(unsatisfied.map(({ type, value }) => `${de.criteria[type]} „${value}“`).join(', '));
    case 'NONE_UP':
      return de.noneUp(
        number(instances.satisfyingAll),
        states.map((state) => de[state](number(instances[state] ?? 0))).join(', '),
      );
    case 'COMING':
      return de.coming(
        recipes.map((recipe) => `„${recipe}“`).join(', '),
        recipes.length === 1 ? 'kann' : 'können',
      );
    case 'BUSY':
      return de.busy(number(instances.busy));
    case 'SOON':
      return de.soon(number(instances.idle));
    case 'PAUSED':
      return de.paused;
  }
}
