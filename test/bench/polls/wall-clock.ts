/** Milliseconds since 1970 with fractions: the same in all processes of a machine. */
export function wallClockMs(): number {
  return performance.timeOrigin + performance.now();
}
