import { describe, expect, it } from 'vitest';
import { latinHypercube } from './latin-hypercube.js';

/** Points of a Latin hypercube, as rows. */
function rows(count: number, dimensions: number, seed: number): number[][] {
  const coordinate = latinHypercube(count, dimensions, seed);
  return Array.from({ length: count }, (_, index) =>
    Array.from({ length: dimensions }, (_, dimension) => coordinate(index, dimension)),
  );
}

describe('a Latin hypercube', () => {
  // The points are written by SciPy 1.17.1, and the same by SciPy 1.10.1: qmc.LatinHypercube(d, seed=seed).random(n).
  it.each([
    [
      5,
      2,
      0,
      [
        [0.6726076625357091, 0.946042657247226],
        [0.591805295212761, 0.5966944728942941],
        [0.03734595215994552, 0.21744888454445563],
        [0.278672844846564, 0.6541006878032003],
        [0.8912750017069154, 0.012985515242446354],
      ],
    ],
    [
      4,
      3,
      42,
      [
        [0.8065109878610092, 0.8902803900619869, 0.035350520022154386],
        [0.07565799273515902, 0.22645566302808762, 0.256094412090811],
        [0.30971507450241176, 0.5534839236807616, 0.9679715918311136],
        [0.6374035155261082, 0.4073004939418547, 0.5183087527878496],
      ],
    ],
    [1, 1, 7, [[0.37490453339533303]]],
  ])('has the %d points of SciPy in %d dimensions for the seed %d', (count, dimensions, seed, points) =>
    expect(rows(count, dimensions, seed)).toEqual(points),
  );

  it('has the last of 1,000 points of SciPy in 10 dimensions', () =>
    expect(rows(1000, 10, 9).at(-1)).toEqual([
      0.44444227726381597, 0.07610692006607896, 0.6371402600871151, 0.9619308298053176, 0.4734463224096592,
      0.09098746688986427, 0.9331492873237623, 0.6441921810012542, 0.2582151481551357, 0.594616897248361,
    ]));

  it.each([0, 1, 99, 2 ** 40])('has one point in each stratum of each dimension for the seed %d', (seed) => {
    const points = rows(200, 6, seed);
    for (let dimension = 0; dimension < 6; dimension += 1) {
      // A stratum includes its upper end, as SciPy subtracts a random number that may be 0.
      const strata = points.map((point) => Math.ceil((point[dimension] as number) * 200));
      expect(strata.sort((one, other) => one - other)).toEqual(
        Array.from({ length: 200 }, (_, index) => index + 1),
      );
    }
  });
});
