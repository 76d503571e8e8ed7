import { NumpyRandom } from './numpy-random.js';
import type { UnitCoordinate } from './unit-coordinate.js';

/**
 * Latin hypercube: in each dimension, one of `count` points in each of `count` strata of equal length. The points are
 * those of SciPy, `scipy.stats.qmc.LatinHypercube(dimensions, seed=seed).random(count)`.
 */
export function latinHypercube(count: number, dimensions: number, seed: number): UnitCoordinate {
  const random = new NumpyRandom(seed);
  const points = Float64Array.from({ length: count * dimensions }, () => random.random());
  for (let dimension = 0; dimension < dimensions; dimension += 1) {
    const strata = Uint32Array.from({ length: count }, (_, index) => index + 1);
    random.shuffle(strata);
    for (const [index, stratum] of strata.entries()) {
      const place = index * dimensions + dimension;
      points[place] = (stratum - (points[place] as number)) / count;
    }
  }
  return (index, dimension) => points[index * dimensions + dimension] as number;
}
