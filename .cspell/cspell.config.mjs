// Spelling of code and pages. Words are those of English, of the glossary, and the names in words.txt. Of tests, the
// titles and comments count; their texts may be anything.
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const root = new URL('..', import.meta.url);

/** Words of the terms that the glossary defines. */
function glossaryWords() {
  const page = readFileSync(new URL('packages/docs/glossary.md', root), 'utf8');
  const terms = [...page.matchAll(/^\| (?!term |-)([^|]+) \|/gm)].map(([, term]) => term);
  return [...new Set(terms.flatMap((term) => term.match(/\p{L}[\p{L}'-]+/gu) ?? []))];
}

/** Titles of tests. */
const TITLES = /\b(?:describe|it|test)(?:\.\w+)*(?:\([^'"`\n]*\))?\(\s*(['"`]).*?\1/gs;

/** German words of the console, contents in Base64, letters of other scripts, tokens in examples, a state of Slurm, and parts of
 *  patterns. */
const OTHER_TEXTS = [
  /\bde\b(?:: [^{\n]*)?[:=] \{[\s\S]*?\n {0,4}\}/g,
  /\bde: .*/g,
  /'Der Hub .*'/g,
  /"(?=[A-Za-z]*[0-9+/=])[A-Za-z0-9+/]{8,}={0,2}"/g,
  /"NDAK\w+"/g,
  /\bfilename Z2\S+/g,
  /\S*[\u0370-\u058f]\S*/g,
  /\bexample: '\S{20,}'/g,
  /'[0-9A-Z]{30,}'/g,
  /%\[\w+%\]/g,
  /\[pP\]roperty/g,
  /'Func' \+ 'tion'/g,
  /%2F\w+/g,
  /'CANCELLED'/g,
];

export default {
  version: '0.2',
  globRoot: fileURLToPath(root),
  useGitignore: true,
  language: 'en-US',
  dictionaries: ['typescript', 'node', 'npm', 'softwareTerms', 'html', 'css', 'python', 'bash', 'names'],
  dictionaryDefinitions: [
    { name: 'names', path: fileURLToPath(new URL('.cspell/words.txt', root)), addWords: false },
  ],
  words: glossaryWords(),
  // British spellings that American dictionaries know, too.
  flagWords: [
    ...[
      'cancelled',
      'cancelling',
      'judgement',
      'whilst',
      'learnt',
      'amongst',
      'centre',
      'licence',
      'misspelt',
      'signalled',
    ],
    ...['enrol', 'enrols', 'enrolment'],
  ],
  ignorePaths: [
    'package-lock.json',
    '.biome.json',
    '.cspell/**',
    '.dependency-cruiser.cjs',
    'deploy/grafana/**',
    'packages/client/generated/**',
    'packages/console/icons/**',
    'packages/console/**/*-de.ts',
    '**/*.svg',
  ],
  ignoreRegExpList: ['Base64SingleLine', 'UUID', 'HashStrings', ...OTHER_TEXTS],
  overrides: [
    {
      filename: ['test/**', '**/*.test.ts', '**/*.test.tsx', '**/fixtures/**'],
      includeRegExpList: ['CStyleComment', TITLES],
    },
    { filename: '**/tests/**/*.py', includeRegExpList: ['PythonComment'] },
  ],
};
