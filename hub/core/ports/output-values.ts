/** Reading of values out of the outputs of jobs. */

import type { ReadValue } from '../studies/values/read-value.js';
import type { ReaderSyntax, ValueRule } from '../studies/values/value-rules.js';

export interface OutputValues extends ReaderSyntax {
  /**
   * Values of rules about one source, in their order; `content` is the whole file or log in UTF-8, which is parsed once for all
   * rules. Nothing in it makes the promise reject: what cannot be read, or only with too much time or memory, is MISSING. Rejects
   * with `STORE_UNAVAILABLE` when the hub stops meanwhile, and when the hub cannot begin to read.
   */
  readValues(rules: readonly ValueRule[], content: Uint8Array): Promise<readonly ReadValue[]>;
}
