import type { StudyDetails } from '@workbench-hub/client';
import type { Language } from '../../base/preferences.js';
import { numberText } from '../../words/formats.js';

type Condition = NonNullable<StudyDetails['stopWhen']>[number];

/** A condition in signs: `1 ≤ stress ≤ 200`. */
export function conditionText({ value, lower, upper }: Condition, language: Language): string {
  const from = lower === undefined ? '' : `${numberText(lower, language)} ≤ `;
  const to = upper === undefined ? '' : ` ≤ ${numberText(upper, language)}`;
  return `${from}${value}${to}`;
}
