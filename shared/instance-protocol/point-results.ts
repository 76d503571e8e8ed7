/** Results of the points of a bundle, for programs that run them. */
import {
  lineOfPoint,
  mayBeBundled,
  POINTS_FILE,
  type PointOutput,
  type PointResult,
  pointOutput,
  pointResults,
} from '../domain/point-results.js';

export type { PointOutput, PointResult };
export { lineOfPoint, mayBeBundled, POINTS_FILE, pointOutput, pointResults };
