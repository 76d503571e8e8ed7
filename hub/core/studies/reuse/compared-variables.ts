/** Variables of an earlier computation beside those of a study. */
import { differing } from './job-inputs.js';

export interface WantedVariables {
  /** Variables of the job that are the same at all points. */
  readonly fixed: ReadonlyMap<string, string>;
  /** Names of the others, in the order of the study. */
  readonly names: readonly string[];
}

/** First difference of the variables that all points of an earlier study have in common; undefined when its points may be equal. */
export function differenceOfAll(
  { fixed, names }: WantedVariables,
  earlier: { readonly fixed: ReadonlyMap<string, string>; readonly names: readonly string[] },
): string | undefined {
  const known = new Map([...earlier.fixed, ...earlier.names.map((name) => [name, null] as const)]);
  for (const [name, value] of [...fixed, ...names.map((each) => [each, null] as const)]) {
    const other = known.get(name);
    if (other === undefined) return `variable ${name} is only in the new job`;
    if (value !== null && other !== null && other !== value)
      return `variable ${differing(name, value, other)}`;
  }
  const extra = [...known.keys()].find((name) => !fixed.has(name) && !names.includes(name));
  return extra === undefined ? undefined : `variable ${extra} is only in the earlier job`;
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
