/**
 * Generator of NumPy, `numpy.random.default_rng(seed)`, with the same numbers: SeedSequence (O'Neill's seed_seq_fe with
 * 128 bits) seeds PCG64 (a linear congruential generator of 128 bits, with the output function XSL-RR).
 */

/** Number of limbs of the state, which has 128 bits; limbs have 16 bits, the lowest comes first. */
const LIMBS = 8;
const LIMB_BASE = 0x10000;

/** Multiplier of PCG64, 0x2360ed051fc65da44385df649fccf645. */
const MULTIPLIER = Float64Array.of(0xf645, 0x9fcc, 0xdf64, 0x4385, 0x5da4, 0x1fc6, 0xed05, 0x2360);

/** Generator with the state of PCG64, and half of a 64-bit output where NumPy keeps it for the next 32-bit number. */
export class NumpyRandom {
  readonly #increment: Float64Array;
  #state: Float64Array = new Float64Array(LIMBS);
  #next: Float64Array = new Float64Array(LIMBS);
  #high = 0;
  #low = 0;
  #keptHalf: number | undefined;

  /** Generator for a seed, an integer from 0 to 2^53 - 1. */
  constructor(seed: number) {
    const words = seedWords(seed, 8);
    // NumPy reads pairs of words as 64-bit numbers, and the first of two such as the high half of 128 bits.
    const start = limbsOf(words.slice(2, 4).concat(words.slice(0, 2)));
    const stream = limbsOf(words.slice(6, 8).concat(words.slice(4, 6)));
    this.#increment = sumOf(sumOf(stream, stream), limbsOf([1, 0, 0, 0]));
    this.#advance();
    this.#state = sumOf(this.#state, start);
    this.#advance();
  }

  /** Number from 0 to below 1 with 53 random bits. */
  random(): number {
    this.#draw64();
    return (this.#high * 2 ** 21 + (this.#low >>> 11)) / 2 ** 53;
  }

  /** Random bit, like an element of `integers(2, dtype=uint32)`: the highest of a 32-bit number. */
  bit(): number {
    return this.#draw32() >>> 31;
  }

  /** Shuffle of at most 2^31 values in place, like `shuffle` with one axis. */
  shuffle(values: Uint32Array): void {
    for (let index = values.length - 1; index > 0; index -= 1) {
      const other = this.#integerUpTo(index);
      const value = values[index] as number;
      values[index] = values[other] as number;
      values[other] = value;
    }
  }

  /** Integer from 0 to `max` inclusive, for a `max` from 1 to 2^31 - 1, by rejection of greater ones of as many bits. */
  #integerUpTo(max: number): number {
    const mask = 0xffffffff >>> Math.clz32(max);
    for (;;) {
      const integer = this.#draw32() & mask;
      if (integer <= max) return integer;
    }
  }

  #draw32(): number {
    if (this.#keptHalf !== undefined) {
      const kept = this.#keptHalf;
      this.#keptHalf = undefined;
      return kept;
    }
    this.#draw64();
    this.#keptHalf = this.#high;
    return this.#low;
  }

  /** Next output of 64 bits: the halves of the state, combined, and rotated right by its top six bits. */
  #draw64(): void {
    this.#advance();
    const state = this.#state;
    const low = (wordOf(state, 0) ^ wordOf(state, 4)) >>> 0;
    const high = (wordOf(state, 2) ^ wordOf(state, 6)) >>> 0;
    const rotation = (state[7] as number) >>> 10;
    const isSwapped = rotation >= 32;
    this.#low = rotatedLow(isSwapped ? high : low, isSwapped ? low : high, rotation % 32);
    this.#high = rotatedLow(isSwapped ? low : high, isSwapped ? high : low, rotation % 32);
  }

  /** Step of the state: times the multiplier, plus the increment, modulo 2^128. */
  #advance(): void {
    const state = this.#state;
    const next = this.#next;
    let carry = 0;
    for (let place = 0; place < LIMBS; place += 1) {
      let sum = carry + (this.#increment[place] as number);
      for (let index = 0; index <= place; index += 1) {
        sum += (state[index] as number) * (MULTIPLIER[place - index] as number);
      }
      carry = Math.floor(sum / LIMB_BASE);
      next[place] = sum - carry * LIMB_BASE;
    }
    this.#state = next;
    this.#next = state;
  }
}

/** Word of 32 bits that begins at a limb. */
function wordOf(limbs: Float64Array, place: number): number {
  return (limbs[place + 1] as number) * LIMB_BASE + (limbs[place] as number);
}

/** Low word of two, rotated right by 0 to 31 bits. */
function rotatedLow(low: number, high: number, bits: number): number {
  return bits === 0 ? low : ((low >>> bits) | (high << (32 - bits))) >>> 0;
}

/** Limbs of words of 32 bits, the lowest first. */
function limbsOf(words: readonly number[]): Float64Array {
  return Float64Array.from(words.flatMap((word) => [word % LIMB_BASE, word >>> 16]));
}

/** Sum of two numbers of 128 bits, modulo 2^128. */
function sumOf(first: Float64Array, second: Float64Array): Float64Array {
  let carry = 0;
  return first.map((limb, place) => {
    const sum = limb + (second[place] as number) + carry;
    carry = Math.floor(sum / LIMB_BASE);
    return sum % LIMB_BASE;
  });
}

/** Words of a pool of SeedSequence. */
const POOL_WORDS = 4;

/** The first `count` words of 32 bits that SeedSequence makes of a seed. */
function seedWords(seed: number, count: number): number[] {
  const pool = mixedPool([seed >>> 0, Math.floor(seed / 2 ** 32), 0, 0]);
  const hash = hashing(0x8b51f9dd, 0x58f38ded);
  return Array.from({ length: count }, (_, index) => hash(pool[index % POOL_WORDS] as number));
}

/** Pool in which each word depends on all. */
function mixedPool(entropy: readonly number[]): number[] {
  const hash = hashing(0x43b0d7e5, 0x931e8875);
  const pool = entropy.map(hash);
  for (let source = 0; source < POOL_WORDS; source += 1) {
    for (let target = 0; target < POOL_WORDS; target += 1) {
      if (source === target) continue;
      const hashed = hash(pool[source] as number);
      const mixed = Math.imul(0xca01f9dd, pool[target] as number) - Math.imul(0x4973f715, hashed);
      pool[target] = (mixed ^ ((mixed >>> 0) >>> 16)) >>> 0;
    }
  }
  return pool;
}

/** Hash of words of 32 bits, whose constant changes with each word. */
function hashing(start: number, multiplier: number): (word: number) => number {
  let constant = start;
  return (word) => {
    const mixed = word ^ constant;
    constant = Math.imul(constant, multiplier);
    const hashed = Math.imul(mixed, constant) >>> 0;
    return (hashed ^ (hashed >>> 16)) >>> 0;
  };
}
