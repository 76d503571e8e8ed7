import { useState } from 'react';
import { usePreferences } from '../../base/preference-store.js';
import { ChoiceField } from '../../design/choice.js';
import { TextField } from '../../design/text-field.js';
import { useCommonWords } from '../../words/common.js';
import { useWords } from '../../words/dictionary.js';
import { numberText } from '../../words/formats.js';
import { type Draft, MAX_NOTE_LENGTH } from './draft.js';
import { useOffers } from './use-offers.js';
import { de } from './words-de.js';
import { en } from './words-en.js';

const PRIORITIES = ['HIGHEST', 'HIGH', 'NORMAL', 'LOW', 'LOWEST'] as const;
/** Versions that are offered by a press; others are typed. */
const SHOWN_VERSIONS = 5;

interface PartProps {
  readonly draft: Draft;
  readonly onChange: (draft: Draft) => void;
}

/** Version and labels that the instance must have, out of those that there are. */
export function PlaceCard({ draft, onChange }: PartProps) {
  const words = useWords<typeof en>({ en, de });
  const [{ language }] = usePreferences();
  const offers = useOffers(draft.labels);
  const versions = offers?.versions.slice(0, SHOWN_VERSIONS) ?? [];
  const labels = [...new Set([...(offers?.labels.keys() ?? []), ...draft.labels])];
  const toggled = (label: string) =>
    draft.labels.includes(label) ? draft.labels.filter((each) => each !== label) : [...draft.labels, label];
  const add = (more: readonly string[]) =>
    onChange({ ...draft, labels: [...new Set([...draft.labels, ...more])] });
  return (
    <section className="card part" aria-labelledby="where-title">
      <h2 id="where-title">{words.where}</h2>
      <div className="field">
        <label htmlFor="version">{words.version}</label>
        <div className="choices">
          <input
            id="version"
            className="input version mono"
            placeholder={words.anyVersion}
            spellCheck={false}
            value={draft.version}
            onChange={(event) => onChange({ ...draft, version: event.target.value })}
          />
          {versions.map((version, at) => (
            <button
              key={version}
              type="button"
              className="choice"
              aria-pressed={draft.version === version}
              onClick={() => onChange({ ...draft, version: draft.version === version ? '' : version })}
            >
              {at === 0 ? words.newest(version) : version}
            </button>
          ))}
        </div>
      </div>
      <fieldset className="field">
        <legend className="label">{words.labels}</legend>
        <div className="choices">
          {labels.map((label) => (
            <button
              key={label}
              type="button"
              className="choice"
              aria-pressed={draft.labels.includes(label)}
              title={words.offering(label, numberText(offers?.labels.get(label) ?? 0, language))}
              onClick={() => onChange({ ...draft, labels: toggled(label) })}
            >
              {label}
            </button>
          ))}
          <OtherLabel onAdd={add} />
          {offers && labels.length === 0 && <span className="faint">{words.nobodyOffers}</span>}
        </div>
      </fieldset>
    </section>
  );
}

/** A label that no instance has at present, such as one of a host that is down; Enter adds it, and so does leaving the field. */
function OtherLabel({ onAdd }: { readonly onAdd: (labels: readonly string[]) => void }) {
  const words = useWords<typeof en>({ en, de });
  const [text, setText] = useState('');
  const add = () => {
    const labels = text.split(',').map((label) => label.trim());
    if (text.trim() !== '') onAdd(labels.filter((label) => label !== ''));
    setText('');
  };
  return (
    <input
      className="input version mono"
      aria-label={words.otherLabel}
      placeholder={words.otherLabel}
      spellCheck={false}
      value={text}
      onChange={(event) => setText(event.target.value)}
      onKeyDown={(event) => event.key === 'Enter' && add()}
      onBlur={add}
    />
  );
}

/** Name, priority, time limit and note. */
export function MoreCard({ draft, onChange }: PartProps) {
  const words = useWords<typeof en>({ en, de });
  const common = useCommonWords();
  return (
    <section className="card part more" aria-labelledby="more-title">
      <h2 id="more-title">{words.more}</h2>
      <TextField
        id="name"
        label={words.name}
        placeholder={words.nameHint}
        value={draft.name}
        onChange={(name) => onChange({ ...draft, name })}
      />
      <ChoiceField
        id="priority"
        label={words.priority}
        value={draft.priority}
        options={PRIORITIES.map((each) => [each, common.priority[each]])}
        onChange={(priority) => onChange({ ...draft, priority })}
      />
      <TextField
        id="time-limit"
        label={words.timeLimit}
        inputMode="numeric"
        placeholder={words.noLimit}
        value={draft.timeLimitS}
        onChange={(text) => onChange({ ...draft, timeLimitS: text.trim() })}
      />
      <div className="field note">
        <label htmlFor="note">{words.note}</label>
        <textarea
          id="note"
          className="input"
          rows={2}
          maxLength={MAX_NOTE_LENGTH}
          placeholder={words.noteHint}
          value={draft.note}
          onChange={(event) => onChange({ ...draft, note: event.target.value })}
        />
      </div>
    </section>
  );
}
