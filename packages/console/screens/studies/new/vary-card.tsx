import { Link } from 'wouter';
import { ChoiceField } from '../../../design/choice.js';
import { ShowMore, useShownPart } from '../../../design/shown-part.js';
import { useWords } from '../../../words/dictionary.js';
import type { Variable } from '../../new-job/draft.js';
import { FaultField, FaultLines, type ShownFault } from './fault-field.js';
import {
  formOf,
  isOfVariable,
  isSampled,
  type LevelForm,
  type StudyDraft,
  type VariableField,
  type VariableKind,
  type VariedVariable,
  variedAround,
} from './study-draft.js';
import { changeStudy, changeVaried } from './study-store.js';
import { de } from './words-de.js';
import { en } from './words-en.js';

const KINDS: readonly VariableKind[] = ['NUMBER', 'INTEGER', 'TEXT'];
const FORMS: readonly LevelForm[] = ['COUNT', 'STEP', 'LIST'];
/** Variables that are shown at first: a job may have thousands. */
const SHOWN_VARIABLES = 100;

interface VaryCardProps {
  readonly variables: readonly Variable[];
  readonly study: StudyDraft;
  readonly faults: readonly ShownFault[];
}

/** Variables of the job, each with a switch that lets it differ from point to point. */
export function VaryCard({ variables, study, faults }: VaryCardProps) {
  const words = useWords<typeof en>({ en, de });
  const named = variables.filter(({ key }) => key !== '');
  const part = useShownPart(named, SHOWN_VARIABLES);
  const { varied } = study;
  const toggle = ({ key, value }: Variable) => {
    const chosen = varied.some(({ name }) => name === key)
      ? varied.filter(({ name }) => name !== key)
      : [...varied, variedAround(key, value)];
    const order = named.map((variable) => variable.key);
    changeStudy({ varied: chosen.toSorted((a, b) => order.indexOf(a.name) - order.indexOf(b.name)) });
  };
  return (
    <section className="card part" aria-labelledby="study-vary-title">
      <h2 id="study-vary-title">{words.vary}</h2>
      {named.length === 0 ? (
        <p className="faint">
          {words.noVariables} <Link href="/new">{words.changeJob}</Link>
        </p>
      ) : (
        <p className="faint">{words.varyMore}</p>
      )}
      <ul className="new-study-variables">
        {part.shown.map((variable) => {
          const index = varied.findIndex(({ name }) => name === variable.key);
          const chosen = varied[index];
          return (
            <li key={variable.key}>
              <label className="check">
                <input type="checkbox" checked={chosen !== undefined} onChange={() => toggle(variable)} />
                <span className="new-study-name">{variable.key}</span>
                <span className="faint mono new-study-name">{words.inTheJob(variable.value)}</span>
              </label>
              {chosen && (
                <Levels
                  id={`study-variable-${index}`}
                  variable={chosen}
                  isBounded={isSampled(study.plan)}
                  faults={(field) => faults.filter((fault) => isOfVariable(fault, index, field))}
                />
              )}
            </li>
          );
        })}
      </ul>
      <ShowMore {...part} />
      <FaultLines
        faults={faults.filter(({ where }) => where === 'variables' || where === 'variablesToInject')}
      />
    </section>
  );
}

interface LevelsProps {
  /** Beginning of the ids of its fields. */
  readonly id: string;
  readonly variable: VariedVariable;
  /** Whether points are drawn between bounds, so that there are no levels. */
  readonly isBounded: boolean;
  readonly faults: (field?: VariableField) => readonly ShownFault[];
}

const NUMERIC_FIELDS: readonly VariableField[] = ['from', 'to', 'step', 'count', 'list', 'unit'];

/** Kind and levels of a variable, or its bounds. */
function Levels({ id, variable, isBounded, faults }: LevelsProps) {
  const words = useWords<typeof en>({ en, de });
  const { name, kind, isLogarithmic } = variable;
  const form = isBounded ? 'COUNT' : formOf(variable);
  const change = (part: Partial<VariedVariable>) => changeVaried(name, part);
  const field = (key: VariableField) => (
    <FaultField
      id={`${id}-${key}`}
      label={words.fields[key]}
      value={variable[key]}
      inputMode={key === 'list' || key === 'unit' ? 'text' : 'decimal'}
      placeholder={key === 'list' ? words.listHint : undefined}
      spellCheck={false}
      faults={faults(key)}
      onChange={(text) => change({ [key]: text })}
    />
  );
  const others = faults().filter((fault) => !NUMERIC_FIELDS.some((key) => faults(key).includes(fault)));
  return (
    <div className="new-study-levels" role="group" aria-label={words.levelsOf(name)}>
      <ChoiceField
        id={`${id}-kind`}
        label={words.kind}
        value={kind}
        options={KINDS.map((each) => [each, words.kinds[each]])}
        onChange={(chosen) => change({ kind: chosen })}
      />
      {!isBounded && kind !== 'TEXT' && (
        <ChoiceField
          id={`${id}-form`}
          label={words.levels}
          value={form}
          options={FORMS.map((each) => [each, words.forms[each]])}
          onChange={(chosen) => change({ form: chosen })}
        />
      )}
      {form === 'LIST' ? (
        field('list')
      ) : (
        <>
          {field('from')}
          {field('to')}
          {!isBounded && field(form === 'STEP' ? 'step' : 'count')}
        </>
      )}
      {field('unit')}
      {form === 'COUNT' && kind !== 'TEXT' && (
        <label className="check new-study-scale">
          <input
            type="checkbox"
            checked={isLogarithmic}
            onChange={({ target: { checked } }) => change({ isLogarithmic: checked })}
          />
          {words.logarithmic}
        </label>
      )}
      <FaultLines faults={others} />
    </div>
  );
}
