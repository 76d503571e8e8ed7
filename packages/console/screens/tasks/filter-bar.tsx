import { useEffect, useRef, useState } from 'react';
import { useNamedStudy } from '../../data/named-study.js';
import { ChoiceChip } from '../../design/choice.js';
import { Icon } from '../../icons/icon.js';
import { useCommonWords } from '../../words/common.js';
import { useWords } from '../../words/dictionary.js';
import { shortIdOf } from '../../words/task-name.js';
import {
  ALL_POINTS,
  type Filters,
  localText,
  NO_FILTERS,
  PRIORITIES,
  searchOf,
  TIME_CHOICES,
  timestampOf,
} from './filters.js';
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
        <span aria-hidden="true">{words.note}</span>
        <TypedFilter
          value={filters.note}
          label={words.note}
          hint={words.anyNote}
          onChange={(note) => onChange({ note })}
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
      <ChoiceChip
        label={words.priority}
        value={filters.priority}
        options={[
          ['', words.anyPriority],
          ...PRIORITIES.map((each) => [each, common.priority[each]] as const),
        ]}
        onChange={(priority) => onChange({ priority })}
      />
      <StudyChoice value={filters.study} onChange={(study) => onChange({ study })} />
      <ChoiceChip
        label={words.period}
        value={filters.period}
        options={TIME_CHOICES.map((each) => [each, words.periods[each]])}
        onChange={(period) => onChange(period === 'between' ? { period } : { period, from: '', to: '' })}
      />
      {filters.period === 'between' && (
        <>
          <TimeField label={words.from} value={filters.from} onChange={(from) => onChange({ from })} />
          <TimeField label={words.to} value={filters.to} onChange={(to) => onChange({ to })} />
        </>
      )}
      {searchOf(filters) !== '' && (
        <button type="button" className="button plain" onClick={() => onChange(NO_FILTERS)}>
          <Icon name="x" />
          {words.clear}
        </button>
      )}
    </search>
  );
}

interface StudyChoiceProps {
  readonly value: Filters['study'];
  readonly onChange: (study: Filters['study']) => void;
}

/** Whether tasks of studies are listed; an address may choose those of one study. */
function StudyChoice({ value, onChange }: StudyChoiceProps) {
  const words = useWords<typeof en>({ en, de });
  const one = value === '' || value === ALL_POINTS ? undefined : value;
  const { data: study } = useNamedStudy(one);
  return (
    <ChoiceChip
      label={words.study}
      isLong
      value={value}
      options={[
        ['', words.noPoints],
        [ALL_POINTS, words.allPoints],
        ...(one === undefined ? [] : [[one, words.pointsOf(study?.name ?? shortIdOf(one))] as const]),
      ]}
      onChange={onChange}
    />
  );
}

interface TimeFieldProps {
  readonly label: string;
  /** Timestamp; empty for none. */
  readonly value: string;
  readonly onChange: (timestamp: string) => void;
}

/** A date and time in the zone of the reader. A year that is half typed does not count. */
function TimeField({ label, value, onChange }: TimeFieldProps) {
  const [text, setText] = useState(() => localText(value));
  // The address has changed otherwise.
  useEffect(() => setText((typed) => (timestampOf(typed) === value ? typed : localText(value))), [value]);
  const change = (typed: string) => {
    setText(typed);
    const timestamp = timestampOf(typed);
    if (timestamp === '' || timestamp >= '1970') onChange(timestamp);
  };
  return (
    <div className="chip time-field">
      <span aria-hidden="true">{label}</span>
      <input
        type="datetime-local"
        className="input"
        aria-label={label}
        value={text}
        onChange={(event) => change(event.target.value)}
      />
    </div>
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
