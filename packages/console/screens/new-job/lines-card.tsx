import { CopiedLines } from '../../design/copied-lines.js';
import { useWords } from '../../words/dictionary.js';
import type { Draft } from './draft.js';
import { commandOf, pythonOf } from './lines-to-copy.js';
import { firstLineFor, likelyProgram } from './script-language.js';
import { de } from './words-de.js';
import { en } from './words-en.js';

/** The same job for the command line and for Python, to be copied. */
export function LinesCard({ draft }: { readonly draft: Draft }) {
  const words = useWords<typeof en>({ en, de });
  const added = draft.files.flatMap(({ role, path, program = likelyProgram(path) }) =>
    role === 'SCRIPT' && program !== 'own' ? [`${path}: ${firstLineFor(program).trim()}`] : [],
  );
  return (
    <details className="card part lines-card">
      <summary>{words.sameAgain}</summary>
      <CopiedLines title={words.command} text={commandOf(draft, location.origin)} />
      <CopiedLines title={words.python} text={pythonOf(draft, location.origin)} />
      {added.length > 0 && <p className="faint">{words.firstLines(added.join(', '))}</p>}
    </details>
  );
}
