import { usePreferences } from '../base/preference-store.js';
import type { Language } from '../base/preferences.js';

/** The same entries as a dictionary in English, in any language. */
export type DictionaryLike<T> = {
  readonly [K in keyof T]: T[K] extends (...values: infer V) => string
    ? (...values: V) => string
    : T[K] extends string
      ? string
      : DictionaryLike<T[K]>;
};

/** A dictionary in all languages; the compiler refuses one with a missing entry. */
export type Dictionaries<T> = Readonly<Record<Language, DictionaryLike<T>>>;

/** The entries in the language of the reader. */
export function useWords<T>(dictionaries: Dictionaries<T>): DictionaryLike<T> {
  const [{ language }] = usePreferences();
  return dictionaries[language];
}
