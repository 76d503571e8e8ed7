import { type Figure, withinLimit } from './figures.js';

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
  const lines = [['figure', 'median', 'unit', 'lowest', 'highest', 'limit'], ...rows];
  const widths = lines[0]?.map((_, column) => Math.max(...lines.map((line) => line[column]?.length ?? 0)));
  return lines
    .map((line) =>
      line
        .map((cell, column) => {
          const width = widths?.[column] ?? 0;
          return NUMBERS.has(column) ? cell.padStart(width) : cell.padEnd(width);
        })
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}

/** Columns that hold numbers. */
const NUMBERS = new Set([1, 3, 4]);

/** Three digits that mean something. */
function shown(value: number): string {
  if (Math.abs(value) >= 100) return value.toFixed(0);
  return value.toFixed(Math.abs(value) >= 10 ? 1 : 2);
}
