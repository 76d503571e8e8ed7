import type { ComparedFigure } from './compare.js';
import { type Figure, type Verdict, withinLimit } from './figures.js';
import type { PartCost } from './profiles/costs.js';
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

/** Figures of two revisions, with the ratio of their medians. */
export function comparedTable(figures: readonly ComparedFigure[], revision: string): string {
  const spread = ({ lowest, highest }: Figure) => `${shown(lowest)} to ${shown(highest)}`;
  const rows = figures.map(({ name, before, now }) => [
    name,
    shown(before.median),
    shown(now.median),
    now.unit,
    shown(now.median / before.median),
    spread(before),
    spread(now),
  ]);
  const header = ['figure', revision, 'this clone', 'unit', 'ratio', `${revision}, all`, 'this clone, all'];
  return inColumns([header, ...rows], [1, 2, 4]);
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

/** Cost of each part of the code, by place. */
export function costTable(costs: readonly PartCost[]): string {
  const rows = [...new Set(costs.map(({ where }) => where))].flatMap((where) => {
    const here = costs.filter((cost) => cost.where === where);
    const all = here.reduce((sum, { us }) => sum + us, 0);
    return [...here, { part: 'all', us: all }].map(({ part, us }) => [where, part, us.toFixed(0)]);
  });
  return inColumns([['where', 'part of the code', 'us of a task'], ...rows], [2]);
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
