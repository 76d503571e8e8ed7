import { useWords } from '../../../words/dictionary.js';
import { FaultField, FaultLines, type ShownFault } from './fault-field.js';
import { isSampled, PLANS, type StudyDraft } from './study-draft.js';
import { changeStudy } from './study-store.js';
import { de } from './words-de.js';
import { en } from './words-en.js';

interface PlanCardProps {
  readonly study: StudyDraft;
  readonly faults: readonly ShownFault[];
}

/** The plan by which the varied variables get their values. */
export function PlanCard({ study: { plan, count, seed }, faults }: PlanCardProps) {
  const words = useWords<typeof en>({ en, de });
  const at = (place: string) => faults.filter(({ where }) => where === place);
  return (
    <section className="card part" aria-labelledby="study-plan-title">
      <h2 id="study-plan-title">{words.plan}</h2>
      <div className="new-study-plans" role="radiogroup" aria-labelledby="study-plan-title">
        {PLANS.map((each) => (
          <label key={each} className="new-study-plan">
            <input
              type="radio"
              name="study-plan"
              checked={plan === each}
              onChange={() => changeStudy({ plan: each })}
            />
            <span>
              <strong>{words.plans[each]}</strong>
              <span className="under">{words.plansMore[each]}</span>
            </span>
          </label>
        ))}
      </div>
      {isSampled(plan) && (
        <div className="new-study-levels">
          <FaultField
            id="study-count"
            label={words.count}
            inputMode="numeric"
            value={count}
            faults={at('plan.count')}
            onChange={(text) => changeStudy({ count: text })}
          />
          <FaultField
            id="study-seed"
            label={plan === 'SOBOL' ? words.seedIfAny : words.seed}
            inputMode="numeric"
            value={seed}
            faults={at('plan.seed')}
            onChange={(text) => changeStudy({ seed: text })}
          />
        </div>
      )}
      <FaultLines faults={faults.filter(({ where }) => /^plan(?:$|\.levels$|\.base)/.test(where))} />
    </section>
  );
}
