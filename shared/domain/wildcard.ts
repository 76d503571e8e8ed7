/**
 * Texts with wildcards, as clients write them: `*` stands for any run of characters and `?` for one. No comparison takes more
 * than about one step for each character of the text and each 32 characters of the pattern.
 */

/** Maximum length of a pattern from a client, which bounds the cost of a comparison. */
export const MAX_PATTERN_LENGTH = 256;

const WILDCARDS = /[*?]/;

/** True for a pattern that is longer than {@link MAX_PATTERN_LENGTH}. Text without wildcards may have any length. */
export function isPatternTooLong(pattern: string): boolean {
  return pattern.length > MAX_PATTERN_LENGTH && WILDCARDS.test(pattern);
}

/** The pattern with one `*` in place of several beside each other, which match the same. */
export function withSingleStars(pattern: string): string {
  return pattern.replaceAll(/\*{2,}/g, '*');
}

/** Steps per character up to which positions are tried one by one; beyond, {@link WildcardAutomaton} takes over. */
const TRIED_STEPS_PER_CHARACTER = 8;

/** True when the whole `text` matches `pattern`. */
export function matchesWildcard(pattern: string, text: string): boolean {
  let stepsLeft = TRIED_STEPS_PER_CHARACTER * (pattern.length + text.length);
  let p = 0;
  let t = 0;
  let starAt = -1;
  let retryFrom = 0;
  while (t < text.length) {
    if (stepsLeft-- === 0) return new WildcardAutomaton(pattern).matches(codesOf(text), 0, text.length);
    const code = pattern.charCodeAt(p);
    if (code === STAR) {
      starAt = p++;
      retryFrom = t;
    } else if (code === QUESTION_MARK || code === text.charCodeAt(t)) {
      p++;
      t++;
    } else if (starAt >= 0) {
      p = starAt + 1;
      t = ++retryFrom;
    } else {
      return false;
    }
  }
  while (pattern.charCodeAt(p) === STAR) p++;
  return p === pattern.length;
}

const STAR = 0x2a;
const QUESTION_MARK = 0x3f;
const WORD_BITS = 32;

/**
 * Compares texts with one pattern in a number of steps that depends on their lengths only. Each place in the pattern that the
 * text may have reached is one bit, and a step moves 32 of them on by a character.
 */
export class WildcardAutomaton {
  /** Minimum length of a matching text. */
  readonly #shortest: number;
  readonly #words: number;
  /** Positions of `*`. */
  readonly #loops: Int32Array;
  /** Positions reached by a character, by its code. */
  readonly #steps = new Map<number, Int32Array>();
  /** Positions reached by any other character: those behind a `?`. */
  readonly #otherSteps: Int32Array;
  readonly #reached: Int32Array;

  constructor(pattern: string) {
    const characters = pattern.replaceAll('*', '');
    this.#shortest = characters.length;
    this.#words = Math.floor(characters.length / WORD_BITS) + 1;
    this.#loops = new Int32Array(this.#words);
    this.#otherSteps = new Int32Array(this.#words);
    this.#reached = new Int32Array(this.#words);
    for (let at = 0, place = 0; at < pattern.length; at++) {
      if (pattern.charCodeAt(at) === STAR) setBit(this.#loops, place);
      else place++;
    }
    for (let at = 0; at < characters.length; at++) {
      if (characters.charCodeAt(at) === QUESTION_MARK) setBit(this.#otherSteps, at + 1);
    }
    for (let at = 0; at < characters.length; at++) {
      const code = characters.charCodeAt(at);
      if (code !== QUESTION_MARK) setBit(this.#stepsOf(code), at + 1);
    }
  }

  /** True when the characters from `from` to `end` (exclusive) match as a whole. */
  matches(codes: ArrayLike<number>, from: number, end: number): boolean {
    if (end - from < this.#shortest) return false;
    const reached = this.#reached.fill(0);
    reached[0] = 1;
    for (let at = from; at < end; at++) {
      const steps = this.#steps.get(codes[at] as number) ?? this.#otherSteps;
      let carried = 0;
      let all = 0;
      for (let word = 0; word < this.#words; word++) {
        const before = reached[word] as number;
        const moved = ((before << 1) | carried) & (steps[word] as number);
        const after = moved | (before & (this.#loops[word] as number));
        carried = before >>> (WORD_BITS - 1);
        reached[word] = after;
        all |= after;
      }
      if (all === 0) return false;
    }
    return hasBit(reached, this.#shortest);
  }

  #stepsOf(code: number): Int32Array {
    const known = this.#steps.get(code);
    if (known) return known;
    const steps = Int32Array.from(this.#otherSteps);
    this.#steps.set(code, steps);
    return steps;
  }
}

function codesOf(text: string): Uint16Array {
  return Uint16Array.from({ length: text.length }, (_, at) => text.charCodeAt(at));
}

function setBit(words: Int32Array, place: number): void {
  const word = Math.floor(place / WORD_BITS);
  words[word] = (words[word] as number) | (1 << (place % WORD_BITS));
}

function hasBit(words: Int32Array, place: number): boolean {
  return (((words[Math.floor(place / WORD_BITS)] as number) >>> (place % WORD_BITS)) & 1) === 1;
}
