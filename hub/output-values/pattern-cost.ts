/** Cost of compiling a pattern, estimated from its text alone. */

export interface PatternCost {
  /** Instructions with each counted repetition written out. RE2 makes fewer where it merges alternatives, and at most twice as many
   *  where parts are empty. */
  readonly instructions: number;
  /** Number of `\pL`, `\P{Greek}` and the like. */
  readonly unicodeClasses: number;
}

/** Parts of a pattern: a quotation, an escape, a class in brackets, flags, the start of a group, a counted repetition, a character. */
const PARTS = new RegExp(
  [
    /\\Q(?<quotation>[\s\S]*?)(?:\\E|$)/,
    /\\(?:[pPx]\{[^}]*\}|[\s\S])/,
    /\[\^?\]?(?:\\[\s\S]|\[:\^?[a-z]+:\]|[^\]\\])*(?:\]|$)/,
    /\(\?[a-zA-Z-]+\)/,
    /(?<open>\((?:\?(?:P?<[^>]*>|[a-zA-Z-]*:))?)/,
    /(?<close>\))/,
    /\{(?<least>\d+)(?<comma>,(?<most>\d*))?\}/,
    /[\s\S]/,
  ]
    .map(({ source }) => source)
    .join('|'),
  'g',
);

/** Estimate for any text, also one that is no pattern; its time grows linearly with the text. */
export function patternCost(pattern: string): PatternCost {
  /** Instructions before each open group. */
  const outer: number[] = [];
  let size = 0;
  /** Instructions of what a repetition would repeat. */
  let last = 0;
  let unicodeClasses = 0;
  for (const { 0: part, groups = {} } of pattern.matchAll(PARTS)) {
    if (groups['open'] !== undefined) {
      outer.push(size);
      // Its two instructions, by which a group without content has a cost, too.
      size = 2;
    } else if (groups['close'] !== undefined) {
      last = size;
      size += outer.pop() ?? 0;
    } else if (groups['least'] !== undefined) {
      const repeated = repeatedSize(last, groups);
      size += repeated - last;
      last = repeated;
    } else {
      last = groups['quotation']?.length ?? 1;
      size += last;
      unicodeClasses += groups['quotation'] === undefined ? unicodeClassesIn(part) : 0;
    }
  }
  return { instructions: outer.reduce((total, each) => total + each, size), unicodeClasses };
}

/** Instructions of a counted repetition; each optional one has a branch. */
function repeatedSize(size: number, groups: Readonly<Record<string, string | undefined>>): number {
  const least = Number(groups['least']);
  const { comma, most } = groups;
  if (comma === undefined) return least * size;
  if (most === '') return Math.max(least, 1) * size + 1;
  return least * size + Math.max(Number(most) - least, 0) * (size + 1);
}

function unicodeClassesIn(part: string): number {
  return [...part.matchAll(/\\(.)/gs)].filter(([, letter]) => letter === 'p' || letter === 'P').length;
}
