import type { StudyDetails } from '@workbench-hub/client';
import { Link } from 'wouter';
import { useNow } from '../../base/clock.js';
import { usePreferences } from '../../base/preference-store.js';
import { Fact } from '../../design/fact.js';
import { Time } from '../../design/time.js';
import { useWords } from '../../words/dictionary.js';
import { durationText, numberText } from '../../words/formats.js';
import { conditionText } from './condition-text.js';
import { outcomeClass } from './outcome-badge.js';
import { POINT_STATES, type PointState } from './points.js';
import { timeToGoMs } from './progress.js';
import { ProgressBar } from './progress-bar.js';
import { de } from './words-de.js';
import { en } from './words-en.js';

interface StudyCardProps {
  readonly study: StudyDetails;
}

/** Number of points by outcome, and the time until the last one ends. */
export function ProgressCard({ study }: StudyCardProps) {
  const words = useWords<typeof en>({ en, de });
  const [{ language }] = usePreferences();
  const { points } = study;
  const toGoMs = timeToGoMs(study, useNow());
  return (
    <section className="card facts" aria-labelledby="study-progress-title">
      <h2 id="study-progress-title">{words.progress}</h2>
      <ProgressBar study={study} />
      <dl className="study-outcomes">
        {POINT_STATES.map((state) => (
          <Fact key={state} label={words.outcomes[state]}>
            <OutcomeCount state={state} count={state === 'OPEN' ? points.open : points[state]} />
          </Fact>
        ))}
        <Fact label={words.waiting}>
          <span className="numbers">{numberText(points.waiting, language)}</span>
        </Fact>
        {toGoMs !== undefined && (
          <Fact label={words.toGo}>
            <span className="numbers">{words.roughly(durationText(toGoMs, language))}</span>
          </Fact>
        )}
      </dl>
      <p className="study-tasks">
        <Link href={`/tasks?study=${study.id}`}>{words.itsTasks}</Link>
      </p>
    </section>
  );
}

function OutcomeCount({ state, count }: { readonly state: PointState; readonly count: number }) {
  const [{ language }] = usePreferences();
  const look = count === 0 ? 'faint' : `study-outcome-count ${outcomeClass(state)}`;
  return <span className={`numbers ${look}`}>{numberText(count, language)}</span>;
}

/** Rules by which a study stops by itself, if it has any. */
function StopRules({ study: { stopAfterFailures, stopAfter, stopWhen = [] } }: StudyCardProps) {
  const words = useWords<typeof en>({ en, de });
  const [{ language }] = usePreferences();
  const rules = [
    ...(stopAfterFailures === undefined ? [] : [words.failedOf(numberText(stopAfterFailures, language))]),
    ...(stopAfter === undefined ? [] : [durationText(stopAfter * 1000, language)]),
    ...(stopWhen.length === 0 ? [] : [stopWhen.map((each) => conditionText(each, language)).join(', ')]),
  ];
  return rules.length > 0 && <Fact label={words.stopAfter}>{rules.join(words.or)}</Fact>;
}

/** Particulars of a study. */
export function AboutCard({ study }: StudyCardProps) {
  const words = useWords<typeof en>({ en, de });
  const [{ language }] = usePreferences();
  const { id, note, creator, createdAt, endedAt, classifiers, timeLimit, open } = study;
  return (
    <section className="card facts" aria-labelledby="study-about-title">
      <h2 id="study-about-title">{words.about}</h2>
      <dl>
        {note !== undefined && (
          <Fact label={words.note}>
            <span className="note">{note}</span>
          </Fact>
        )}
        {creator !== undefined && <Fact label={words.columns.creator}>{creator}</Fact>}
        <Fact label={words.columns.created}>
          <Time at={createdAt} />
        </Fact>
        {endedAt !== undefined && (
          <Fact label={words.ended}>
            <Time at={endedAt} />
          </Fact>
        )}
        {classifiers.length > 0 && (
          <Fact label={words.wants}>
            <span className="tags">
              {classifiers.map(({ type, value }) => (
                <span key={`${type} ${value}`} className="tag">
                  {value}
                </span>
              ))}
            </span>
          </Fact>
        )}
        {timeLimit !== undefined && (
          <Fact label={words.timeLimit}>{durationText(timeLimit * 1000, language)}</Fact>
        )}
        <StopRules study={study} />
        {open && <Fact label={words.plan}>{words.openPlan}</Fact>}
        <Fact label={words.id}>
          <code>{id}</code>
        </Fact>
      </dl>
    </section>
  );
}
