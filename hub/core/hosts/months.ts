/** Months of the local time, as periods. */
export interface Month {
  /** Such as 2026-11. */
  readonly month: string;
  readonly fromMs: number;
  readonly untilMs: number;
}

/** The month of this time and those before it, so many in all, the latest first. */
export function latestMonths(nowMs: number, count: number): Month[] {
  const now = new Date(nowMs);
  const startOf = (back: number) => new Date(now.getFullYear(), now.getMonth() - back, 1);
  return Array.from({ length: count }, (_, back) => {
    const start = startOf(back);
    const month = `${start.getFullYear()}-${String(start.getMonth() + 1).padStart(2, '0')}`;
    return { month, fromMs: start.getTime(), untilMs: startOf(back - 1).getTime() };
  });
}
