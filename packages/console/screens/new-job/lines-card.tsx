import { useState } from 'react';
import { Icon } from '../../icons/icon.js';
import { useCommonWords } from '../../words/common.js';
import { useWords } from '../../words/dictionary.js';
import type { Draft } from './draft.js';
import { commandOf, pythonOf } from './lines-to-copy.js';
import { firstLineFor, likelyProgram } from './script-language.js';
import { de } from './words-de.js';
import { en } from './words-en.js';

const COPIED_MS = 1500;

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

function CopiedLines({ title, text }: { readonly title: string; readonly text: string }) {
  const common = useCommonWords();
  const [isCopied, setCopied] = useState(false);
  const copy = async () => {
    await navigator.clipboard.writeText(text);
    setCopied(true);
    setTimeout(() => setCopied(false), COPIED_MS);
  };
  return (
    <div className="copied-lines">
      <header>
        <strong>{title}</strong>
        {navigator.clipboard && (
          <button
            type="button"
            className="button plain"
            aria-label={`${common.copy}: ${title}`}
            onClick={() => void copy()}
          >
            <Icon name={isCopied ? 'check' : 'copy'} size={14} />
            {isCopied ? common.copied : common.copy}
          </button>
        )}
      </header>
      <pre className="code" tabIndex={0}>
        {text}
      </pre>
    </div>
  );
}
