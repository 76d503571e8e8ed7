/** Identifiers as the hub makes them, in 16 bytes each, and the search in them. */
import { WildcardAutomaton } from '@workbench-hub/shared/domain/wildcard';

export const UUID_BYTES = 16;
const UUID_LENGTH = 36;
const DASH = 0x2d;

const DASHES = [8, 13, 18, 23] as const;

/** Where the two digits of each byte stand. */
const PLACES = Uint8Array.from([0, 2, 4, 6, 9, 11, 14, 16, 19, 21, 24, 26, 28, 30, 32, 34]);

/** Value of each digit, by the code of its character: -1 for what is none. */
const DIGITS = new Int8Array(128).fill(-1);
for (const [value, digit] of [...'0123456789abcdef'].entries()) DIGITS[digit.charCodeAt(0)] = value;

/** Writes the bytes of the identifier that stands between two places; false when these characters are not the one text that
 *  such bytes stand for. */
export function packUuid(
  units: Uint16Array | Uint8Array,
  from: number,
  end: number,
  bytes: Uint8Array,
  at: number,
): boolean {
  if (end - from !== UUID_LENGTH) return false;
  for (const dash of DASHES) if (units[from + dash] !== DASH) return false;
  for (let byte = 0; byte < UUID_BYTES; byte++) {
    const place = from + (PLACES[byte] as number);
    const high = DIGITS[units[place] as number] ?? -1;
    const low = DIGITS[units[place + 1] as number] ?? -1;
    if (high < 0 || low < 0) return false;
    bytes[at + byte] = high * 16 + low;
  }
  return true;
}

/** What can follow in an identifier: sixteen digits, by their value, and a dash. */
const SYMBOLS = '0123456789abcdef-';
const CODES = Uint8Array.from(SYMBOLS, (symbol) => symbol.charCodeAt(0));

/** Writes the characters that {@link packUuid} was given; those of the dashes are there already. */
function unpackUuid(bytes: Uint8Array, at: number, codes: Uint8Array): void {
  for (let byte = 0; byte < UUID_BYTES; byte++) {
    const value = bytes[at + byte] as number;
    const place = PLACES[byte] as number;
    codes[place] = CODES[value >> 4] as number;
    codes[place + 1] = CODES[value & 15] as number;
  }
}
const DASH_SYMBOL = 16;

/** States in which nothing that comes makes a difference. Each state stands for where its 256 places in the table begin. */
const NEVER = 0;
const ALWAYS = 256;

/** A pattern that needs more, such as one with a dozen `?` behind what is found often, is compared identifier by identifier. */
const MAX_STATES = 1024;

/**
 * Which identifiers match a text with wildcards: an automaton that goes on by a byte, which is two digits, at a time. What it
 * has read is enough for it to know where in the pattern it may be.
 */
export class UuidPattern {
  readonly #pattern: string;
  /** The next state, by state and byte; undefined when there are too many. */
  readonly #next: Uint32Array | undefined;
  /** The same for a dash, one place for each state. */
  readonly #afterDash: Uint32Array;
  readonly #start: number;
  /** 1 for the states that match where the identifier ends. */
  readonly #matches: Uint8Array;

  constructor(pattern: string) {
    this.#pattern = pattern;
    const tooLong = pattern.replaceAll('*', '').length > UUID_LENGTH;
    const states = tooLong ? NOTHING : statesOf(pattern);
    this.#start = states?.start ?? NEVER;
    this.#matches = Uint8Array.from(states?.matches ?? []);
    this.#afterDash = Uint32Array.from(states?.next ?? [], (next) => next[DASH_SYMBOL] ?? NEVER);
    this.#next = states && Uint32Array.from(states.next.flatMap((next) => bytesOf(next, states.next)));
  }

  /** Of the first `count` of these rows, keeps those whose identifier matches, at the front; gives how many they are. */
  keep(bytes: Uint8Array, rows: Uint16Array, count: number): number {
    const next = this.#next;
    if (!next) return this.#keepOneByOne(bytes, rows, count);
    const dash = this.#afterDash;
    const matches = this.#matches;
    const start = this.#start;
    let kept = 0;
    for (let candidate = 0; candidate < count; candidate++) {
      const row = rows[candidate] as number;
      const at = row * UUID_BYTES;
      // Byte by byte, without a loop, which would take twice the time.
      let state = next[start + (bytes[at] as number)] as number;
      state = next[state + (bytes[at + 1] as number)] as number;
      state = next[state + (bytes[at + 2] as number)] as number;
      state = next[state + (bytes[at + 3] as number)] as number;
      if (state > ALWAYS) {
        state = next[(dash[state >> 8] as number) + (bytes[at + 4] as number)] as number;
        state = next[state + (bytes[at + 5] as number)] as number;
        state = next[(dash[state >> 8] as number) + (bytes[at + 6] as number)] as number;
        state = next[state + (bytes[at + 7] as number)] as number;
        state = next[(dash[state >> 8] as number) + (bytes[at + 8] as number)] as number;
        state = next[state + (bytes[at + 9] as number)] as number;
      }
      if (state > ALWAYS) {
        state = next[(dash[state >> 8] as number) + (bytes[at + 10] as number)] as number;
        state = next[state + (bytes[at + 11] as number)] as number;
        state = next[state + (bytes[at + 12] as number)] as number;
        state = next[state + (bytes[at + 13] as number)] as number;
        state = next[state + (bytes[at + 14] as number)] as number;
        state = next[state + (bytes[at + 15] as number)] as number;
      }
      rows[kept] = row;
      kept += matches[state >> 8] as number;
    }
    return kept;
  }

  #keepOneByOne(bytes: Uint8Array, rows: Uint16Array, count: number): number {
    const automaton = new WildcardAutomaton(this.#pattern);
    const codes = new Uint8Array(UUID_LENGTH).fill(DASH);
    let kept = 0;
    for (let candidate = 0; candidate < count; candidate++) {
      const row = rows[candidate] as number;
      unpackUuid(bytes, row * UUID_BYTES, codes);
      if (automaton.matches(codes, 0, UUID_LENGTH)) rows[kept++] = row;
    }
    return kept;
  }
}

interface States {
  readonly start: number;
  /** The next state of each, by symbol. */
  readonly next: readonly (readonly number[])[];
  /** 1 for those that match where the identifier ends. */
  readonly matches: readonly number[];
}

/** Of a pattern that nothing matches. */
const NOTHING: States = { start: NEVER, next: [SYMBOLS.split('').map(() => NEVER)], matches: [0] };

/** A state is the set of places in the pattern that may have been reached, one bit each. Undefined when there are too many. */
function statesOf(pattern: string): States | undefined {
  const { loops, steps, end } = placesOf(pattern);
  // Everything matches from where the end is reached and a `*` stands there.
  const all = -1n;
  const sets = [0n, all];
  const states = new Map(sets.map((set, at) => [set, at * 256]));
  const stateOf = (reached: bigint): number => {
    const set = (reached & loops & end) === 0n ? reached : all;
    const state = states.get(set) ?? sets.length * 256;
    if (state === sets.length * 256) {
      states.set(set, state);
      sets.push(set);
    }
    return state;
  };
  const start = stateOf(1n);
  const next: number[][] = [];
  for (let set = sets[0]; set !== undefined; set = sets[next.length]) {
    if (sets.length > MAX_STATES) return undefined;
    const reached = set;
    next.push(
      steps.map((step) => (reached === all ? ALWAYS : stateOf(((reached << 1n) & step) | (reached & loops)))),
    );
  }
  return { start, next, matches: sets.map((set) => ((set & end) === 0n ? 0 : 1)) };
}

/** The places of a pattern before, between and behind its characters, one bit each. */
function placesOf(pattern: string): { loops: bigint; steps: bigint[]; end: bigint } {
  let end = 1n;
  /** Those at which a `*` stands. */
  let loops = 0n;
  /** For each symbol, those to which it leads. */
  const steps = Array.from(SYMBOLS, () => 0n);
  for (const character of pattern) {
    if (character === '*') {
      loops |= end;
      continue;
    }
    end <<= 1n;
    for (const [at, symbol] of [...SYMBOLS].entries()) {
      if (character === '?' || character === symbol) steps[at] = (steps[at] as bigint) | end;
    }
  }
  return { loops, steps, end };
}

/** The next state by byte, from those by digit. */
function bytesOf(next: readonly number[], all: readonly (readonly number[])[]): number[] {
  return Array.from(
    { length: 256 },
    (_, byte) => all[(next[byte >> 4] ?? NEVER) / 256]?.[byte & 15] ?? NEVER,
  );
}
