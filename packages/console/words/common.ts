import { de } from './common-de.js';
import { en } from './common-en.js';
import { useWords } from './dictionary.js';

/** Words that many screens use, in the language of the reader. */
export function useCommonWords() {
  return useWords<typeof en>({ en, de });
}
