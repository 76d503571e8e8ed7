/** Finds references in the text of a file: to sections of the contract, decision records, headings and paths. */

const SECTION = String.raw`\d+\.\d+`;
/** `contract 2.9`, `contract 2.9, 8.7 and 8.9`; a comment may break the line in between. */
const GAP = String.raw`[\s*/#]+`;
const SECTIONS_NAMED = new RegExp(
  `\\bcontract${GAP}(${SECTION}(?:(?:,|${GAP}and|${GAP}to|,${GAP}and)${GAP}${SECTION})*)`,
  'gi',
);
const DECISIONS_NAMED = /\bdecisions?[\s*/]+(?:\[\s*)?(\d{4})\b|\bdecisions\/(\d{4})-/gi;

/** Numbers of sections that a text refers to. */
export function sectionsNamed(text: string): string[] {
  return [...text.matchAll(SECTIONS_NAMED)].flatMap(
    ([, numbers]) => String(numbers).match(new RegExp(SECTION, 'g')) ?? [],
  );
}

/** Numbers of decision records that a text refers to. */
export function decisionsNamed(text: string): string[] {
  return [...text.matchAll(DECISIONS_NAMED)].map(([, inWords, inPath]) => String(inWords ?? inPath));
}

/** Numbers of the sections of a contract page. */
export function contractSections(page: string): string[] {
  return [...withoutCode(page).matchAll(/^## (\d+\.\d+) /gm)].map(([, number]) => String(number));
}

/** Headings of a contract page that break the numbering: page 2 has `# 2 …`, then `## 2.1 …`, `## 2.2 …`. Numbers may be
 *  left out, for sections that were removed. */
export function brokenSectionNumbers(fileName: string, page: string): string[] {
  const pageNumber = fileName.split('-')[0];
  let last = 0;
  return [...withoutCode(page).matchAll(/^#{1,2} .*$/gm)].flatMap(([heading], index) => {
    if (index === 0) return heading.startsWith(`# ${pageNumber} `) ? [] : [`${fileName}: ${heading}`];
    const [, ofPage, section] = /^## (\d+)\.(\d+) \S/.exec(heading) ?? [];
    const isInOrder = ofPage === pageNumber && Number(section) > last;
    last = Number(section ?? last);
    return isInOrder ? [] : [`${fileName}: ${heading}`];
  });
}

/** Relative targets of the links and pictures of a Markdown page. */
export function linksOf(page: string): string[] {
  return [...withoutCode(page).matchAll(/\]\(([^()\s]+)\)/g)]
    .map(([, target]) => String(target))
    .filter((target) => !/^[a-z][a-z+.-]*:/i.test(target));
}

/** The anchors that GitHub gives to the headings of a Markdown page. */
export function anchorsOf(page: string): Set<string> {
  const anchors = new Set<string>();
  for (const [, title] of withoutFences(page).matchAll(/^#{1,6} (.+)$/gm)) {
    const plain = String(title).replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1');
    const slug = plain
      .trim()
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}\p{M}_\- ]/gu, '')
      .replaceAll(' ', '-');
    let anchor = slug;
    for (let copy = 1; anchors.has(anchor); copy++) anchor = `${slug}-${copy}`;
    anchors.add(anchor);
  }
  return anchors;
}

/** Paths from the root of the repository that a Markdown page shows as code. */
export function pathsNamed(page: string): string[] {
  return [...withoutFences(page).matchAll(/`((?:hub|agent|shared|packages|test|deploy)\/[\w./-]*)`/g)].map(
    ([, path]) => String(path),
  );
}

/** Files of code and folders that a Markdown page shows as code, wherever they are: `lanes/lane.ts`, `store.ts`, `lanes/`. */
export function sourcesNamed(page: string): string[] {
  return [
    ...withoutFences(page).matchAll(/`((?:[\w.-]+\/)+|(?:[\w.-]+\/)*[\w.-]+\.(?:ts|tsx|mjs|py))`/g),
  ].map(([, path]) => String(path));
}

/** The page without fenced blocks. */
function withoutFences(page: string): string {
  return page.replaceAll(/^( *)(`{3,}|~{3,})[^\n]*\n[\s\S]*?^\1\2[ \t]*$/gm, '');
}

/** The page without fenced blocks and without code in a line. */
function withoutCode(page: string): string {
  return withoutFences(page).replaceAll(/(`+)[^`]*\1/g, '');
}
