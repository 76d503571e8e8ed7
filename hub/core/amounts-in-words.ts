/** Amounts and durations in words. */

/** `1 task is`, `2 tasks are` */
export function amountInWords(amount: number, one: string, more: string): string {
  return `${amount} ${amount === 1 ? one : more}`;
}

/** `90 s`, `2 min`, `3 h` */
export function durationInWords(ms: number): string {
  const seconds = Math.max(0, Math.round(ms / 1000));
  if (seconds < 120) return `${seconds} s`;
  if (seconds < 7200) return `${Math.round(seconds / 60)} min`;
  return `${Math.round(seconds / 3600)} h`;
}
