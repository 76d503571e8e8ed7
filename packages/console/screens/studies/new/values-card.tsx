import { useState } from 'react';
import { usePreferences } from '../../../base/preference-store.js';
import { ShowMore, useShownPart } from '../../../design/shown-part.js';
import { Icon } from '../../../icons/icon.js';
import { useWords } from '../../../words/dictionary.js';
import { valueText } from '../value-text.js';
import { FaultLines, type ShownFault } from './fault-field.js';
import { type StudyDraft, TAKES, type Take } from './study-draft.js';
import { changeStudy } from './study-store.js';
import type { ValueOffer } from './value-rules.js';
import { de } from './words-de.js';
import { en } from './words-en.js';

/** Offers that are shown at first. */
const SHOWN_OFFERS = 40;

interface ValuesCardProps {
  readonly study: StudyDraft;
  readonly offers: readonly ValueOffer[];
  readonly isLoading: boolean;
  readonly faults: readonly ShownFault[];
}

/** Values that are read of each point: chosen from the outputs of the job that ran, or by a rule that is typed. */
export function ValuesCard({ study, offers, isLoading, faults }: ValuesCardProps) {
  const words = useWords<typeof en>({ en, de });
  const part = useShownPart(offers, SHOWN_OFFERS);
  const ofValues = faults
    .filter(({ where }) => /^values(?:$|\[)/.test(where))
    .map((fault) => ({ ...fault, what: `${fault.where}: ${fault.what}` }));
  return (
    <section className="card part" aria-labelledby="study-values-title">
      <h2 id="study-values-title">{words.values}</h2>
      <p className="faint" role="status">
        {isLoading ? words.reading : offers.length > 0 ? words.valuesMore : words.noOffers}
      </p>
      {offers.length > 0 && (
        <ul className="new-study-offers">
          {part.shown.map((offer) => (
            <Offer key={offer.key} offer={offer} take={study.wanted[offer.key]} wanted={study.wanted} />
          ))}
        </ul>
      )}
      <ShowMore {...part} />
      <Rules rules={study.rules} faults={faults} />
      <FaultLines faults={ofValues} />
    </section>
  );
}

interface OfferProps {
  readonly offer: ValueOffer;
  /** Undefined when it is not wanted. */
  readonly take: Take | undefined;
  readonly wanted: StudyDraft['wanted'];
}

/** A number of the job that ran, which can be wanted of each point. */
function Offer({ offer: { key, path, label, reader, found }, take, wanted }: OfferProps) {
  const words = useWords<typeof en>({ en, de });
  const [{ language }] = usePreferences();
  const toggle = () => {
    const { [key]: _, ...others } = wanted;
    changeStudy({ wanted: take === undefined ? { ...wanted, [key]: 'LAST' } : others });
  };
  const result = found[take ?? 'LAST'];
  return (
    <li>
      <label className="check">
        <input type="checkbox" checked={take !== undefined} onChange={toggle} />
        <span className="new-study-name">
          {label} <span className="faint">{words.inFile(path)}</span>
        </span>
      </label>
      {take !== undefined && reader.kind === 'CSV' && (
        <select
          className="input new-study-take"
          aria-label={words.takeOf(label)}
          value={take}
          onChange={({ target: { value } }) => changeStudy({ wanted: { ...wanted, [key]: value as Take } })}
        >
          {TAKES.map((each) => (
            <option key={each} value={each}>
              {words.takes[each]}
            </option>
          ))}
        </select>
      )}
      <span className="faint numbers new-study-found">{valueText(result, language)}</span>
    </li>
  );
}

interface RulesProps {
  readonly rules: readonly string[];
  readonly faults: readonly ShownFault[];
}

/** Rules that are typed, as the command line takes them. */
function Rules({ rules, faults }: RulesProps) {
  const words = useWords<typeof en>({ en, de });
  const [text, setText] = useState('');
  const add = () => {
    if (text.trim() === '') return;
    changeStudy({ rules: [...rules, text.trim()] });
    setText('');
  };
  return (
    <>
      <ul className="new-study-offers">
        {rules.map((rule, index) => (
          <li key={`${index} ${rule}`}>
            <code className="new-study-name">{rule}</code>
            <button
              type="button"
              className="button plain only-icon"
              aria-label={words.removeRule(rule)}
              onClick={() => changeStudy({ rules: rules.filter((_, at) => at !== index) })}
            >
              <Icon name="x" />
            </button>
            <FaultLines faults={faults.filter(({ where }) => where === `rules[${index}]`)} />
          </li>
        ))}
      </ul>
      <div className="new-study-rule">
        <div className="field">
          <label htmlFor="study-rule">{words.rule}</label>
          <input
            id="study-rule"
            className="input mono"
            placeholder="stress=result.json#$.stress"
            spellCheck={false}
            value={text}
            onChange={({ target: { value } }) => setText(value)}
            onKeyDown={({ key }) => key === 'Enter' && add()}
          />
        </div>
        <button type="button" className="button" onClick={add}>
          <Icon name="plus" />
          {words.addRule}
        </button>
      </div>
    </>
  );
}
