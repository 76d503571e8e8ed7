/** Bundle of points that an instance runs as one job: their results, and what is left to run. */
import { rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import type { ExecuteBatchJobParams, PointParams } from '@workbench-hub/shared/instance-protocol/messages';
import {
  lineOfPoint,
  POINTS_FILE,
  type PointOutput,
  type PointResult,
} from '@workbench-hub/shared/instance-protocol/point-results';
import type { JobEnd } from './job.js';
import type { EndedPoint } from './thread-messages.js';

/** Time after which no more points begin: the next ones may take longer than the last. */
export const MAX_BUNDLE_MS = 1000;

export class Bundle {
  readonly #points: readonly PointParams[];
  readonly #beganAtMs = performance.now();
  readonly #lines: string[] = [];
  /** Time from the start of the bundle to that of the points that run now. */
  #startedMs = 0;
  #endedMs = 0;

  constructor(points: readonly PointParams[]) {
    this.#points = points;
  }

  /** Points without a result. */
  get left(): PointParams[] {
    return this.#points.slice(this.#lines.length);
  }

  /** A thread begins with the points that are left. */
  begin(): void {
    this.#startedMs = performance.now() - this.#beganAtMs;
    this.#endedMs = this.#startedMs;
  }

  /** Takes the results of the first points that are left. */
  add(ended: readonly EndedPoint[]): void {
    for (const { end, endedMs, outputs } of ended) this.#add(end, this.#startedMs + endedMs, outputs);
  }

  /** Takes the end of the first point that is left, with which its thread has ended. */
  addLost(end: JobEnd): void {
    this.#add(end, performance.now() - this.#beganAtMs, []);
  }

  #add(end: JobEnd, atMs: number, outputs: readonly PointOutput[]): void {
    const [point] = this.left;
    if (!point) return;
    const startedMs = this.#endedMs;
    this.#endedMs = Math.max(startedMs, atMs);
    const status: PointResult['status'] = end.kind === 'failed' ? 'FAILED' : end.status;
    const times = { startedMs, endedMs: this.#endedMs };
    const result = { number: point.number, status, message: end.message ?? null, ...times, outputs };
    this.#lines.push(lineOfPoint(result));
  }

  /** Writes the results. The hub lets points without one run as jobs of their own. */
  write(workingDirectory: string): void {
    const file = path.join(workingDirectory, POINTS_FILE);
    // A point may have left something of that name.
    rmSync(file, { recursive: true, force: true });
    writeFileSync(file, this.#lines.join(''), { flag: 'wx' });
  }
}

/** Job of one point. */
export function jobOfPoint(
  { points: _, pointLimitMs: __, ...job }: ExecuteBatchJobParams,
  point: PointParams,
): ExecuteBatchJobParams {
  return {
    ...job,
    variables: { ...job.variables, ...point.variables },
    environment: { ...job.environment, ...point.environment },
  };
}
