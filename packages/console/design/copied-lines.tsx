import { useState } from 'react';
import { Icon } from '../icons/icon.js';
import { useCommonWords } from '../words/common.js';

const COPIED_MS = 1500;

/** Lines for a terminal or a file, to be copied. */
export function CopiedLines({ title, text }: { readonly title: string; readonly text: string }) {
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
