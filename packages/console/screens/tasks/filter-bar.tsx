import { useEffect, useRef, useState } from 'react';
import { Icon } from '../../icons/icon.js';
import { useCommonWords } from '../../words/common.js';
import { useWords } from '../../words/dictionary.js';
import { type Filters, NO_FILTERS, PERIODS_MS, type Period, PRIORITIES, searchOf } from './filters.js';
import { de } from './words-de.js';
import { en } from './words-en.js';

/** Time without a key press after which a typed filter counts. */
const TYPING_MS = 120;

interface FilterBarProps {
  readonly filters: Filters;
  readonly onChange: (change: Partial<Filters>) => void;
}

/** Filters other than the status, for the address. */
export function FilterBar({ filters, onChange }: FilterBarProps) {
  const words = useWords<typeof en>({ en, de });
  const common = useCommonWords();
  return (
    <search className="filter-bar" aria-label={words.filters}>
      <span className="with-icon name">
        <Icon name="search" />
        <TypedFilter
          value={filters.name}
          label={words.name}
          hint={words.nameHint}
          onChange={(name) => onChange({ name })}
        />
      </span>
      <div className="chip">
        <span aria-hidden="true">{words.creator}</span>
        <TypedFilter
          value={filters.creator}
          label={words.creator}
          hint={words.anybody}
          onChange={(creator) => onChange({ creator })}
        />
      </div>
      <div className="chip">
        <span aria-hidden="true">{words.instance}</span>
        <TypedFilter
          value={filters.instance}
          label={words.instance}
          hint={words.anyInstance}
          onChange={(instance) => onChange({ instance })}
        />
      </div>
      <div className="chip">
        <span aria-hidden="true">{words.priority}</span>
        <select
          className="input"
          aria-label={words.priority}
          value={filters.priority}
          onChange={(event) => onChange({ priority: event.target.value })}
        >
          <option value="">{words.anyPriority}</option>
          {PRIORITIES.map((priority) => (
            <option key={priority} value={priority}>
              {common.priority[priority]}
            </option>
          ))}
        </select>
      </div>
      <div className="chip">
        <span aria-hidden="true">{words.period}</span>
        <select
          className="input"
          aria-label={words.period}
          value={filters.period}
          onChange={(event) => onChange({ period: event.target.value as Period | '' })}
        >
          {(['', ...Object.keys(PERIODS_MS)] as (Period | '')[]).map((period) => (
            <option key={period} value={period}>
              {words.periods[period]}
            </option>
          ))}
        </select>
      </div>
      {searchOf(filters) !== '' && (
        <button type="button" className="button plain" onClick={() => onChange(NO_FILTERS)}>
          <Icon name="x" />
          {words.clear}
        </button>
      )}
    </search>
  );
}

interface TypedFilterProps {
  readonly value: string;
  readonly label: string;
  readonly hint: string;
  readonly onChange: (value: string) => void;
}

/** A field whose text counts when the reader pauses. */
function TypedFilter({ value, label, hint, onChange }: TypedFilterProps) {
  const [text, setText] = useState(value);
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  // The address has changed otherwise: by the button that clears, or by going back.
  useEffect(() => setText(value), [value]);
  useEffect(() => () => clearTimeout(timer.current), []);
  const change = (typed: string) => {
    setText(typed);
    clearTimeout(timer.current);
    timer.current = setTimeout(() => onChange(typed), TYPING_MS);
  };
  return (
    <input
      type="search"
      className="input"
      aria-label={label}
      placeholder={hint}
      value={text}
      onChange={(event) => change(event.target.value)}
    />
  );
}
