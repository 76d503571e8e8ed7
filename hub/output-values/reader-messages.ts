/** Messages between the hub and the process that reads values. The bytes of the content go to its standard input. */
import type { ReadValue } from '../core/studies/values/read-value.js';
import type { ValueRule } from '../core/studies/values/value-rules.js';

/** Request for the values of one content; the next one follows after the response. */
export interface ReadRequest {
  readonly rules: readonly ValueRule[];
  readonly sizeBytes: number;
}

export type ReadResponse =
  | { readonly kind: 'values'; readonly values: readonly ReadValue[] }
  /** A fault of the program; `stack` is for the log. */
  | { readonly kind: 'failed'; readonly stack: string };

/** Signals that ask for an end, from outside. */
export const STOP_SIGNALS: readonly NodeJS.Signals[] = ['SIGTERM', 'SIGINT', 'SIGHUP'];
