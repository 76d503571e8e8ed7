/** Variables of an earlier computation beside those of a study. */
import { differing } from './job-inputs.js';

export interface WantedVariables {
  /** Variables of the job that are the same at all points. */
  readonly fixed: ReadonlyMap<string, string>;
  /** Names of the others, in the order of the study. */
  readonly names: readonly string[];
}

/** Texts of the varied variables in the order of the study, or the first difference of the others. */
export function comparedVariables(
  { fixed, names }: WantedVariables,
  earlier: ReadonlyMap<string, string>,
): { readonly texts: readonly string[] } | { readonly what: string } {
  for (const [name, value] of fixed) {
    const other = earlier.get(name);
    if (other === undefined) return { what: `variable ${name} is only in the new job` };
    if (other !== value) return { what: `variable ${differing(name, value, other)}` };
  }
  const texts: string[] = [];
  for (const name of names) {
    const text = earlier.get(name);
    if (text === undefined) return { what: `variable ${name} is only in the new job` };
    texts.push(text);
  }
  if (earlier.size === fixed.size + names.length) return { texts };
  const extra = [...earlier.keys()].find((name) => !fixed.has(name) && !names.includes(name));
  return { what: `variable ${extra ?? ''} is only in the earlier job` };
}
