/** Patterns: regular expressions of RE2, whose time grows linearly with the text. */

import { type Matcher, RE2JS, RE2JSException } from 're2js';
import { type MissingValue, missing } from '../core/studies/values/read-value.js';
import type { PatternReader } from '../core/studies/values/value-rules.js';
import { patternCost } from './pattern-cost.js';

/** Limit of the instructions of a compiled pattern; `\w{1,300}` has 600, most patterns have some 30. */
const MAX_INSTRUCTIONS = 1000;

/** Limit of the estimated instructions of a pattern, above which it is not even compiled: 1,000 characters can make 180,000 of them,
 *  which takes a second. The estimate may be too high, so it is higher than that of what is compiled. */
const MAX_ESTIMATED_INSTRUCTIONS = 2 * MAX_INSTRUCTIONS;

/** Limit of `\pL` and the like in a pattern; to compile one takes up to a millisecond. */
const MAX_UNICODE_CLASSES = 10;

/** Limit of instructions times characters: at worst some ten seconds for a scan. Usual patterns read 18 million characters, the
 *  log of a task as the agent keeps it by default. */
const MAX_STEPS = 500_000_000;

/** Matches that are looked for one by one, each at worst by a scan of the whole text: enough to see that the first is the last. */
const SINGLE_MATCHES = 2;

interface CompiledPattern {
  readonly single: RE2JS;
  /** Pattern that matches the text up to the end of its last match, in one scan; group 1 is that match. */
  readonly repeated: RE2JS;
}

/** Fault of a pattern, written as "must …"; undefined for none. */
export function patternFault(pattern: string): string | undefined {
  const compiled = compile(pattern);
  return typeof compiled === 'string' ? compiled : undefined;
}

/** Text that a reader finds in `text`, whose lines end with `\n`; `source` is the name of the text in a sentence. */
export function findText(reader: PatternReader, text: string, source: string): string | MissingValue {
  const compiled = compile(reader.pattern);
  if (typeof compiled === 'string') return missing(`the pattern ${compiled}`);
  const maxLength = Math.floor(MAX_STEPS / compiled.repeated.programSize());
  if (text.length > maxLength) {
    return missing(
      `${source} has ${text.length} characters; a pattern as long as this is looked for in at most ${maxLength}`,
    );
  }
  const found = reader.take === 'FIRST' ? firstMatch(compiled, text) : lastMatch(compiled, text);
  if (found === undefined) return missing(`the pattern matches nothing in ${source}`);
  return found ?? missing(`the first group of the pattern has no part in its match in ${source}`);
}

function compile(pattern: string): CompiledPattern | string {
  const costly = costFault(pattern);
  if (costly !== undefined) return costly;
  const single = compiledOrFault(pattern);
  if (typeof single === 'string') {
    return `must be a regular expression of RE2, which has no look-around and no back-references: ${single}`;
  }
  if (single.programSize() > MAX_INSTRUCTIONS) {
    return `must be simpler: its repetitions take ${single.programSize()} steps, at most ${MAX_INSTRUCTIONS} are allowed`;
  }
  if (single.matcher('').find()) return 'must not match an empty text';
  const repeated = compiledOrFault(`\\A(?:(?s:.*?)(${pattern}))+`);
  return typeof repeated === 'string' ? 'must end by \\E what \\Q begins' : { single, repeated };
}

/** Fault of a pattern that would take long to compile. */
function costFault(pattern: string): string | undefined {
  const { instructions, unicodeClasses } = patternCost(pattern);
  if (instructions > MAX_ESTIMATED_INSTRUCTIONS) {
    return `must be simpler: its repetitions take more than ${MAX_ESTIMATED_INSTRUCTIONS} steps, at most ${MAX_INSTRUCTIONS} are allowed`;
  }
  return unicodeClasses > MAX_UNICODE_CLASSES
    ? `must have at most ${MAX_UNICODE_CLASSES} classes \\p{…}`
    : undefined;
}

/** Compiled pattern, or the reason why it cannot be parsed. */
function compiledOrFault(pattern: string): RE2JS | string {
  const flagged = tried(pattern, RE2JS.MULTILINE);
  if (typeof flagged !== 'string') return flagged;
  // In the reason, flags would stand as if they were a part of the pattern.
  const plain = tried(pattern, 0);
  return typeof plain === 'string' ? plain : flagged;
}

function tried(pattern: string, flags: number): RE2JS | string {
  try {
    return RE2JS.compile(pattern, flags);
  } catch (error) {
    if (error instanceof RE2JSException) return error.message.replace(/^error parsing regexp: /, '');
    throw error;
  }
}

/** Text of the first match, null when its first group has no part in it, undefined without a match. */
function firstMatch({ single }: CompiledPattern, text: string): string | null | undefined {
  const matcher = single.matcher(text);
  return matcher.find() ? takenText(matcher, 0) : undefined;
}

/**
 * Text of the last match, as {@link firstMatch}. Looking for one match after the other could take the square of the length of
 * the text (`a[^z]*z|a` on many a), so that after some the rest is left to a single, slower scan.
 */
function lastMatch({ single, repeated }: CompiledPattern, text: string): string | null | undefined {
  const matcher = single.matcher(text);
  let last: string | null | undefined;
  for (let count = 0; count < SINGLE_MATCHES; count++) {
    if (!matcher.find()) return last;
    last = takenText(matcher, 0);
  }
  const scan = repeated.matcher(text);
  return scan.find() ? takenText(scan, 1) : undefined;
}

/** Text of the first group within the group `whole`, or of `whole` if the pattern has no groups. */
function takenText(matcher: Matcher, whole: number): string | null {
  if (matcher.groupCount() === whole) return matcher.group(whole);
  const group = whole + 1;
  // A repeated group keeps what it took in an earlier match.
  return matcher.start(group) < matcher.start(whole) ? null : matcher.group(group);
}
