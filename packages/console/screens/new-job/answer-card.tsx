import { useSteadyError } from '../../base/use-steady-error.js';
import { Refusal } from '../../design/refusal.js';
import { Icon } from '../../icons/icon.js';
import { useWords } from '../../words/dictionary.js';
import { VerdictFigures } from '../task/why-it-waits.js';
import type { Draft } from './draft.js';
import { useAnswer } from './use-offers.js';
import { de } from './words-de.js';
import { en } from './words-en.js';

const CLASS_OF = {
  NEVER: 'of-failed',
  NONE_UP: 'of-waiting',
  COMING: 'of-waiting',
  BUSY: 'of-waiting',
  SOON: 'of-finished',
  PAUSED: 'of-waiting',
} as const;

/** Whether and when the job would run, as things are. */
export function AnswerCard({ draft }: { readonly draft: Draft }) {
  const words = useWords<typeof en>({ en, de });
  const query = useAnswer(draft);
  const { data } = query;
  const error = useSteadyError(query);
  return (
    <section
      className={`card part answer ${data ? CLASS_OF[data.verdict] : ''}`}
      aria-labelledby="answer-title"
    >
      <h2 id="answer-title">{words.answer}</h2>
      {!data && error && <Refusal words={words.noAnswer} error={error} />}
      <div role="status">
        {data ? (
          <p className="answer-verdict">
            <Icon
              name={data.verdict === 'SOON' ? 'circle-play' : data.verdict === 'NEVER' ? 'circle-x' : 'clock'}
              size={20}
            />
            <strong>{words.verdicts[data.verdict]}</strong>
          </p>
        ) : (
          !error && <p className="faint">{words.asking}</p>
        )}
      </div>
      {data && (
        <VerdictFigures explanation={draft.simulatedS === undefined ? data : { ...data, kinds: [] }} />
      )}
    </section>
  );
}
