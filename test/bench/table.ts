import { type Figure, type Verdict, withinLimit } from './figures.js';
import type { StepCost } from './profiles/costs.js';
import type { ProcessUse } from './workload.js';

/** Figures as lines of text, in columns. */
export function tableOf(figures: readonly Figure[]): string {
  const rows = figures.map((figure) => [
    figure.name,
    shown(figure.median),
    figure.unit,
    shown(figure.lowest),
    shown(figure.highest),
    figure.limit === undefined ? '' : `< ${figure.limit}${withinLimit(figure) ? '' : '  BEYOND'}`,
  ]);
  return inColumns([['figure', 'median', 'unit', 'lowest', 'highest', 'limit'], ...rows], [1, 3, 4]);
}

/** Results of the targets. */
export function targetTable(verdicts: readonly Verdict[]): string {
  const number = (value: number | null) => (value === null ? '' : shown(value));
  const rows = verdicts.map(({ target, measured, wanted, verdict }) => [
    target,
    number(measured),
    number(wanted),
    verdict,
  ]);
  return inColumns([['target', 'measured', 'wanted', ''], ...rows], [1, 2]);
}

/** Resource use of the processes. */
export function processTable(processes: readonly ProcessUse[]): string {
  const rows = processes.map(({ name, cpuS, peakRssMib }) => [name, shown(cpuS), peakRssMib.toFixed(0)]);
  return inColumns([['process', 'CPU s', 'MiB at most'], ...rows], [1, 2]);
}

/** Cost of each step, the highest of each place first. */
export function costTable(costs: readonly StepCost[]): string {
  const rows = [...new Set(costs.map(({ where }) => where))].flatMap((where) => {
    const here = costs.filter((cost) => cost.where === where).sort((a, b) => b.us - a.us);
    const all = here.reduce((sum, { us }) => sum + us, 0);
    return [...here, { where, step: 'all', us: all }].map(({ step, us }) => [where, step, us.toFixed(0)]);
  });
  return inColumns([['where', 'step', 'us of a task'], ...rows], [2]);
}

/** Numbers are right-aligned. */
function inColumns(lines: readonly (readonly string[])[], numbers: readonly number[]): string {
  const widths = lines[0]?.map((_, column) => Math.max(...lines.map((line) => line[column]?.length ?? 0)));
  return lines
    .map((line) =>
      line
        .map((cell, column) => {
          const width = widths?.[column] ?? 0;
          return numbers.includes(column) ? cell.padStart(width) : cell.padEnd(width);
        })
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}

/** Three significant digits. */
function shown(value: number): string {
  if (Math.abs(value) >= 100) return value.toFixed(0);
  return value.toFixed(Math.abs(value) >= 10 ? 1 : 2);
}
