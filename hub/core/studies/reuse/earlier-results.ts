/** Earlier results of the job of a study, found by the values of its variables. */
import type { ReadValue } from '../values/read-value.js';
import { differing } from './job-inputs.js';

export interface EarlierResult {
  /** Task whose outputs are the result. */
  readonly taskId: string;
  /** Texts of the variables in the order of the study. */
  readonly variables: readonly string[];
  /** Values that were read before in the order of the rules of the study; undefined for those that were not. */
  readonly values: readonly (ReadValue | undefined)[];
}

/** Result of a point in a bundle, whose outputs are not those of a task of its own. */
export type BundledResult = Omit<EarlierResult, 'values'>;

export type FoundResults =
  /** Those to be preferred first. */
  { readonly results: readonly EarlierResult[] } | { readonly miss: string };

interface Entry {
  readonly key: string;
  readonly results: EarlierResult[];
}

export interface EarlierResultsOptions {
  /** Names of the variables. */
  readonly names: readonly string[];
  /** Those to be preferred first. */
  readonly results: readonly EarlierResult[];
  /** Results that are not reused. */
  readonly bundled: readonly BundledResult[];
  /** Reason of a miss while there is no result. */
  readonly missOfAll: string;
}

export class EarlierResults {
  readonly #names: readonly string[];
  /** In the order of their keys, so that neighbors have the most leading values in common. */
  readonly #entries: Entry[];
  /** Tasks of bundles by the key of a point. */
  readonly #bundles: ReadonlyMap<string, string>;
  readonly #missOfAll: string;

  constructor({ names, results, bundled, missOfAll }: EarlierResultsOptions) {
    this.#names = names;
    this.#missOfAll = missOfAll;
    this.#bundles = new Map(bundled.map(({ taskId, variables }) => [keyOf(variables), taskId]));
    const byKey = new Map<string, EarlierResult[]>();
    for (const result of results) {
      const key = keyOf(result.variables);
      const equal = byKey.get(key);
      if (equal && !hasTask(equal, result)) equal.push(result);
      if (!equal) byKey.set(key, [result]);
    }
    this.#entries = [...byKey]
      .map(([key, equal]) => ({ key, results: equal }))
      .sort((a, b) => (a.key < b.key ? -1 : 1));
  }

  /** Adds a result that is preferred to those before. */
  add(result: EarlierResult): void {
    const key = keyOf(result.variables);
    const at = this.#placeOf(key);
    const entry = this.#entries[at];
    if (entry?.key !== key) this.#entries.splice(at, 0, { key, results: [result] });
    else if (!hasTask(entry.results, result)) entry.results.unshift(result);
  }

  /** Results with these values; or why there are none: they are of a bundle, or the first input that differs from the nearest result. */
  find(variables: readonly string[]): FoundResults {
    const key = keyOf(variables);
    const at = this.#placeOf(key);
    const entry = this.#entries[at];
    if (entry?.key === key) return { results: entry.results };
    const bundle = this.#bundles.get(key);
    if (bundle !== undefined)
      return { miss: `the equal earlier result is that of a bundle, which is not reused: task ${bundle}` };
    const neighbors = [this.#entries[at], this.#entries[at - 1]].flatMap((each) => each?.results[0] ?? []);
    const [nearest] = neighbors
      .map((result) => ({ result, place: firstDifferent(variables, result.variables) }))
      .sort((a, b) => b.place - a.place);
    if (!nearest) return { miss: this.#missOfAll };
    const { result, place } = nearest;
    const wanted = variables[place] ?? '';
    const what = differing(this.#names[place] ?? '', wanted, result.variables[place] ?? '');
    return { miss: `${what} in the nearest earlier result, task ${result.taskId}` };
  }

  /** Place of the first entry whose key is not less. */
  #placeOf(key: string): number {
    let low = 0;
    let high = this.#entries.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.#entries[middle]?.key ?? '') < key) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

/** Text that is equal when all values are; values are ended by a character that sorts before all others. */
function keyOf(variables: readonly string[]): string {
  return variables.map((value) => `${value.replaceAll('\u0000', '\u0000\u0001')}\u0000\u0000`).join('');
}

/** Whether one of these results is that of the same task, which several studies may have reused. */
function hasTask(results: readonly EarlierResult[], { taskId }: EarlierResult): boolean {
  return results.some((result) => result.taskId === taskId);
}

function firstDifferent(a: readonly string[], b: readonly string[]): number {
  return a.findIndex((value, index) => value !== b[index]);
}
