import { useQuery } from '@tanstack/react-query';
import { NoData } from '../../../design/states.js';
import { useWords } from '../../../words/dictionary.js';
import type { PreviewedFile } from './previewed-file.js';
import { de } from './words-de.js';
import { en } from './words-en.js';

/** Longest text that is shown at once; a page is slow with more. */
const SHOWN_CHARACTERS = 512 * 1024;

interface Shown {
  readonly text: string;
  readonly isCut: boolean;
  /** Fault of the file, in the words of the browser. */
  readonly fault?: string;
}

/** JSON, indented; as it is when it is none, such as with `NaN` in it. */
export function JsonText({ file }: { readonly file: PreviewedFile }) {
  const words = useWords<typeof en>({ en, de });
  const query = useQuery({
    queryKey: ['preview', file.key, 'json'],
    queryFn: async ({ signal }) => shownOf(await (await file.fetch(signal)).text()),
    staleTime: Number.POSITIVE_INFINITY,
  });
  const { data } = query;
  if (data === undefined) return <NoData query={query} lines={4} />;
  return (
    <>
      {data.fault !== undefined && (
        <p className="notice of-waiting">
          <span>
            {words.badJson} <span className="mono">{data.fault}</span>
          </span>
        </p>
      )}
      <pre className="code" tabIndex={0}>
        {data.text}
      </pre>
      {data.isCut && <p className="faint">{words.firstPart('512 KiB')}</p>}
    </>
  );
}

export function shownOf(text: string): Shown {
  let shown = text;
  let fault: string | undefined;
  try {
    // Numbers are written as they are in the file: parsing would round those that are long.
    JSON.parse(text);
    shown = indented(text);
  } catch (error) {
    fault = error instanceof Error ? error.message : String(error);
  }
  return {
    text: shown.slice(0, SHOWN_CHARACTERS),
    isCut: shown.length > SHOWN_CHARACTERS,
    ...(fault === undefined ? {} : { fault }),
  };
}

const TOKENS = /"(?:[^"\\]|\\.)*"|[{}[\],:]|[^\s{}[\],:"]+/g;

/** Valid JSON with a line for each entry. */
function indented(text: string): string {
  const parts: string[] = [];
  let depth = 0;
  let before = '';
  for (const [token] of text.matchAll(TOKENS)) {
    if (isEnd(token)) depth--;
    // Nothing is between the brackets of what is empty.
    const isOnNewLine = isEnd(token) ? !isBegin(before) : isBegin(before) || before === ',';
    if (isOnNewLine) parts.push('\n', '  '.repeat(depth));
    parts.push(token === ':' ? ': ' : token);
    if (isBegin(token)) depth++;
    before = token;
  }
  return parts.join('');
}

function isBegin(token: string): boolean {
  return token === '{' || token === '[';
}

function isEnd(token: string): boolean {
  return token === '}' || token === ']';
}
