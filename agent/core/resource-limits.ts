/** Most that an instance program may use, together with all that it starts. */
export interface ResourceLimits {
  /** Memory that is reserved, in bytes; null: no limit. */
  readonly memoryBytes: number | null;
  /** Processors that are busy at the same time, also a part of one; null: no limit. */
  readonly processors: number | null;
}
