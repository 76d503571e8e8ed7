/** UUIDs in 16 bytes each, and their search. */
import { WildcardAutomaton } from '@workbench-hub/shared/domain/wildcard';

export const UUID_BYTES = 16;
const UUID_LENGTH = 36;
const DASH = 0x2d;

const DASHES = [8, 13, 18, 23] as const;

/** Positions of the two digits of each byte. */
const PLACES = Uint8Array.from([0, 2, 4, 6, 9, 11, 14, 16, 19, 21, 24, 26, 28, 30, 32, 34]);

/** Value of each digit by character code: -1 for other characters. */
const DIGITS = new Int8Array(128).fill(-1);
for (const [value, digit] of [...'0123456789abcdef'].entries()) DIGITS[digit.charCodeAt(0)] = value;

/** Writes the bytes of the UUID between two positions; false when its canonical text differs from these characters. */
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

/** Symbols of a UUID: sixteen digits, by their value, and a dash. */
const SYMBOLS = '0123456789abcdef-';
const CODES = Uint8Array.from(SYMBOLS, (symbol) => symbol.charCodeAt(0));

/** Writes the characters of a packed UUID, whose dashes are already in place. */
function unpackUuid(bytes: Uint8Array, at: number, codes: Uint8Array): void {
  for (let byte = 0; byte < UUID_BYTES; byte++) {
    const value = bytes[at + byte] as number;
    const place = PLACES[byte] as number;
    codes[place] = CODES[value >> 4] as number;
    codes[place + 1] = CODES[value & 15] as number;
  }
}
const DASH_SYMBOL = 16;

/** States that no input leaves. A state is the start of its 256 entries in the table. */
const NEVER = 0;
const ALWAYS = 256;

/** Maximum number of states; a pattern that needs more, such as one with a dozen `?` after a frequent text, is compared
 *  UUID by UUID. */
const MAX_STATES = 1024;

/** Matching of UUIDs against a pattern with wildcards, by an automaton that reads a byte, which is two digits, at a time. */
export class UuidPattern {
  readonly #pattern: string;
  /** Next state by state and byte; undefined when there are too many states. */
  readonly #next: Uint32Array | undefined;
  /** Next state after a dash, one entry for each state. */
  readonly #afterDash: Uint32Array;
  readonly #start: number;
  /** 1 for states that match at the end. */
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

  /** Keeps at the front those of the first `count` rows whose UUID matches; returns their number. */
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
      // Unrolled: a loop would take twice the time.
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
  /** Next states by symbol. */
  readonly next: readonly (readonly number[])[];
  /** 1 for states that match at the end. */
  readonly matches: readonly number[];
}

/** For a pattern that nothing matches. */
const NOTHING: States = { start: NEVER, next: [SYMBOLS.split('').map(() => NEVER)], matches: [0] };

/** Builds the automaton. A state is the set of reachable positions in the pattern, one bit each. Undefined when there
 *  are too many states. */
function statesOf(pattern: string): States | undefined {
  const { loops, steps, end } = placesOf(pattern);
  // Everything matches once a final `*` is reached.
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

/** Positions before, between and after the characters of a pattern, one bit each. */
function placesOf(pattern: string): { loops: bigint; steps: bigint[]; end: bigint } {
  let end = 1n;
  /** Positions at a `*`. */
  let loops = 0n;
  /** Positions to which each symbol leads. */
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

/** Next states by byte, from those by digit. */
function bytesOf(next: readonly number[], all: readonly (readonly number[])[]): number[] {
  return Array.from(
    { length: 256 },
    (_, byte) => all[(next[byte >> 4] ?? NEVER) / 256]?.[byte & 15] ?? NEVER,
  );
}
