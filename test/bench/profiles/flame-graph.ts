/** Draws stacks as a flame graph: each frame a bar as wide as the share of time in which it was found, over the frame that
 *  called it. */
import type { Frame, Stack } from './profile.js';

interface Bar {
  readonly frame: Frame;
  ms: number;
  readonly above: Map<string, Bar>;
}

const WIDTH = 1200;
const BAR_HEIGHT = 17;
const CHARACTER_WIDTH = 6.2;
/** Narrower frames are unreadable and make the file large. */
const MIN_WIDTH = 3;

/** Colors by owner of the code. */
const COLORS: readonly (readonly [RegExp, string])[] = [
  [/^(?:hub|agent|shared|packages)\//, '#e8743b'],
  [/^node:/, '#9fc5a8'],
  [/^$/, '#c9c9c9'],
  [/./, '#8ab0d9'],
];

export function flameGraph(title: string, stacks: readonly Stack[]): string {
  const root: Bar = { frame: { name: 'all', file: '' }, ms: 0, above: new Map() };
  for (const { frames, ms } of stacks) {
    root.ms += ms;
    let bar = root;
    for (const frame of frames) {
      const key = `${frame.name} ${frame.file}`;
      const next = bar.above.get(key) ?? { frame, ms: 0, above: new Map() };
      bar.above.set(key, next);
      next.ms += ms;
      bar = next;
    }
  }
  const lines: string[] = [];
  let levels = 0;
  const draw = (bar: Bar, left: number, level: number): void => {
    const width = (bar.ms / root.ms) * WIDTH;
    if (width < MIN_WIDTH) return;
    levels = Math.max(levels, level + 1);
    lines.push(rectangle(bar, left, width, level, root.ms));
    let at = left;
    for (const next of [...bar.above.values()].sort((a, b) => b.ms - a.ms)) {
      draw(next, at, level + 1);
      at += (next.ms / root.ms) * WIDTH;
    }
  };
  let at = 0;
  for (const bar of [...root.above.values()].sort((a, b) => b.ms - a.ms)) {
    draw(bar, at, 0);
    at += (bar.ms / root.ms) * WIDTH;
  }
  const height = (levels + 2) * BAR_HEIGHT;
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" font-family="monospace" font-size="10">`,
    `<title>${escaped(title)}</title>`,
    `<rect width="${WIDTH}" height="${height}" fill="#ffffff"/>`,
    `<text x="4" y="13" font-size="12">${escaped(title)}</text>`,
    ...lines,
    '</svg>',
    '',
  ].join('\n');
}

function rectangle({ frame, ms }: Bar, left: number, width: number, level: number, allMs: number): string {
  const { name, file } = frame;
  const y = (level + 1.5) * BAR_HEIGHT;
  const label = name || file.replace(/^.*\//, '') || '(no name)';
  const room = Math.floor((width - 4) / CHARACTER_WIDTH);
  const fill = COLORS.find(([pattern]) => pattern.test(file))?.[1];
  const share = ((ms / allMs) * 100).toFixed(1);
  const text =
    room < 3
      ? ''
      : `<text x="${(left + 2).toFixed(1)}" y="${y + 12}">${escaped(label.slice(0, room))}</text>`;
  return (
    `<g><title>${escaped(`${label} ${file}`.trim())}: ${share} %</title>` +
    `<rect x="${left.toFixed(1)}" y="${y}" width="${width.toFixed(1)}" height="${BAR_HEIGHT - 1}" fill="${fill}"/>${text}</g>`
  );
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}
