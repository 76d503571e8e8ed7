/** Coordinate from 0 to 1 of a point in the unit hypercube; indices and dimensions begin at 0. */
export type UnitCoordinate = (index: number, dimension: number) => number;
