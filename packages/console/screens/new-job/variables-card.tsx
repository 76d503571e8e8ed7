import { type ClipboardEvent, memo } from 'react';
import { ShowMore, useShownPart } from '../../design/shown-part.js';
import { Icon } from '../../icons/icon.js';
import { useWords } from '../../words/dictionary.js';
import type { Variable } from './draft.js';
import { pastedVariables } from './pasted-variables.js';
import { useFocusLater } from './use-focus-later.js';
import { de } from './words-de.js';
import { en } from './words-en.js';

/** Rows that are shown at first: a pasted table may have thousands. */
const SHOWN_ROWS = 200;

interface VariablesCardProps {
  readonly variables: readonly Variable[];
  readonly onChange: (variables: readonly Variable[]) => void;
}

/** Variables as a form of two columns, into which a table can be pasted. With thousands of them, only a change of them draws it again. */
export const VariablesCard = memo(function VariablesCard({ variables, onChange }: VariablesCardProps) {
  const words = useWords<typeof en>({ en, de });
  const [list, focusLater] = useFocusLater<HTMLDivElement>();
  const focusNameLater = (at: number) =>
    focusLater((place) => place.children.item(at)?.querySelector('input'));
  const rows = variables.length === 0 ? [{ key: '', value: '' }] : variables;
  const part = useShownPart(rows, SHOWN_ROWS);
  const change = (at: number, part: Partial<Variable>) =>
    onChange(rows.map((row, index) => (index === at ? { ...row, ...part } : row)));
  const add = () => {
    focusNameLater(rows.length);
    onChange([...rows, { key: '', value: '' }]);
  };
  const remove = (at: number) => {
    focusNameLater(Math.max(0, Math.min(at, rows.length - 2)));
    onChange(variables.filter((_, index) => index !== at));
  };
  const paste = (event: ClipboardEvent) => {
    const pasted = pastedVariables(event.clipboardData.getData('text/plain'));
    if (!pasted) return;
    event.preventDefault();
    const known = new Map(variables.filter(({ key }) => key !== '').map(({ key, value }) => [key, value]));
    for (const { key, value } of pasted) known.set(key, value);
    onChange([...known].map(([key, value]) => ({ key, value })));
  };
  return (
    <section className="card part" aria-labelledby="variables-title" onPaste={paste}>
      <h2 id="variables-title">{words.variables}</h2>
      <div className="variables" ref={list}>
        {part.shown.map(({ key, value }, at) => (
          // Rows have no other name than their place: their text is being typed.
          <div key={String(at)} className="variable">
            <input
              className="input mono"
              aria-label={`${words.key} ${at + 1}`}
              placeholder={words.key}
              spellCheck={false}
              value={key}
              onChange={(event) => change(at, { key: event.target.value })}
            />
            <input
              className="input mono"
              aria-label={`${words.value} ${at + 1}`}
              placeholder={words.value}
              spellCheck={false}
              value={value}
              onChange={(event) => change(at, { value: event.target.value })}
            />
            <button
              type="button"
              className="button plain only-icon"
              aria-label={words.remove(key === '' ? words.variableAt(String(at + 1)) : key)}
              onClick={() => remove(at)}
            >
              <Icon name="x" />
            </button>
          </div>
        ))}
      </div>
      <ShowMore {...part} />
      <div className="variables-foot">
        <button type="button" className="button" onClick={add}>
          <Icon name="plus" />
          {words.addVariable}
        </button>
        <p className="faint">{words.variablesHint}</p>
      </div>
    </section>
  );
});
