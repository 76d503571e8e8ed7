/** The blocks of a page in Markdown that can say something: paragraphs, list items and rows of tables. */

/** Text of each block, its lines joined by a space. Headings, code, and heads of tables are none. */
export function blocksOf(page: string): string[] {
  const blocks: string[] = [];
  let open: string[] = [];
  let isCode = false;
  const close = () => {
    if (open.length > 0) blocks.push(open.join(' '));
    open = [];
  };
  const lines = page.split('\n');
  for (const [at, line] of lines.entries()) {
    const text = line.trim();
    if (text.startsWith('```')) {
      isCode = !isCode;
      close();
      continue;
    }
    if (isCode) continue;
    const isRow = text.startsWith('|');
    const saysNothing = text === '' || text.startsWith('#');
    if (saysNothing || isRow || /^(?:[-*]|\d+\.) /.test(text)) close();
    if (isRow && !isHeadOfTable(lines, at)) blocks.push(text);
    if (!isRow && !saysNothing) open.push(text);
  }
  close();
  return blocks;
}

function isHeadOfTable(lines: readonly string[], at: number): boolean {
  const isRule = (line: string | undefined) => /^\s*\|(?:\s*:?-+:?\s*\|)+\s*$/.test(line ?? '');
  return isRule(lines[at]) || isRule(lines[at + 1]);
}
