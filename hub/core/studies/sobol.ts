import { NumpyRandom } from './numpy-random.js';
import { SOBOL_DIRECTIONS } from './sobol-directions.js';
import type { UnitCoordinate } from './unit-coordinate.js';

/** Dimensions that a Sobol sequence can have. */
export const MAX_SOBOL_DIMENSIONS = SOBOL_DIRECTIONS.length + 1;

/** Bits of a coordinate, as in SciPy. */
const BITS = 30;

/** Points of a Sobol sequence before it repeats. */
export const MAX_SOBOL_POINTS = 2 ** BITS;

/**
 * Sobol sequence, whose coordinates are below 1. The points are those of SciPy,
 * `scipy.stats.qmc.Sobol(dimensions, scramble=True, seed=seed)`, or with `scramble=False` for a seed of null.
 */
export function sobolSequence(dimensions: number, seed: number | null): UnitCoordinate {
  const directions = Array.from({ length: dimensions }, (_, dimension) => directionNumbers(dimension));
  const shifts = seed === null ? directions.map(() => 0) : scramble(directions, seed);
  return (index, dimension) => {
    const numbers = directions[dimension] as readonly number[];
    let coordinate = shifts[dimension] as number;
    // The point of an index combines the direction numbers at the bits of its Gray code.
    for (let rest = index ^ (index >>> 1); rest !== 0; rest &= rest - 1) {
      coordinate ^= numbers[lowestBit(rest)] as number;
    }
    return coordinate / 2 ** BITS;
  };
}

/** Direction numbers of a dimension by Bratley and Fox, Algorithm 659, ACM TOMS 14(1), page 90. */
function directionNumbers(dimension: number): number[] {
  const [polynomial, ...numbers] = SOBOL_DIRECTIONS[dimension - 1] ?? [1];
  const degree = numbers.length;
  for (let bit = degree; bit < BITS; bit += 1) {
    let number = numbers[bit - degree] ?? 1;
    for (let term = 1; term <= degree; term += 1) {
      if ((polynomial >>> (degree - term)) & 1) number ^= (numbers[bit - term] as number) << term;
    }
    numbers.push(number);
  }
  return numbers.map((number, bit) => number << (BITS - 1 - bit));
}

/**
 * Scramble of direction numbers in place by random lower triangular matrices of bits (Matoušek 1998); the result is a
 * random shift for each dimension. The bits are drawn as in SciPy, those above the diagonals included.
 */
function scramble(directions: readonly number[][], seed: number): number[] {
  const random = new NumpyRandom(seed);
  const shifts = directions.map(() => {
    let shift = 0;
    for (let bit = 0; bit < BITS; bit += 1) shift |= random.bit() << bit;
    return shift;
  });
  for (const numbers of directions) {
    const rows = Array.from({ length: BITS }, (_, row) => matrixRow(random, row));
    for (const [bit, number] of numbers.entries()) {
      numbers[bit] = rows.reduce((scrambled, row) => (scrambled << 1) | parity(row & number), 0);
    }
  }
  return shifts;
}

/** Row of a lower triangular matrix with ones on its diagonal; its first column is the highest bit. */
function matrixRow(random: NumpyRandom, row: number): number {
  let bits = 0;
  for (let column = 0; column < BITS; column += 1) {
    const drawn = random.bit();
    const element = column === row ? 1 : drawn;
    if (column <= row) bits |= element << (BITS - 1 - column);
  }
  return bits;
}

/** Parity of the number of ones. */
function parity(bits: number): number {
  let ones = 0;
  for (let rest = bits; rest !== 0; rest &= rest - 1) ones ^= 1;
  return ones;
}

function lowestBit(bits: number): number {
  return 31 - Math.clz32(bits & -bits);
}
