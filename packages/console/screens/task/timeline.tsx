import type { TaskDetails } from '@workbench-hub/client';
import { useNow } from '../../base/clock.js';
import { HubWords } from '../../design/hub-words.js';
import { Duration, Time } from '../../design/time.js';
import { useWords } from '../../words/dictionary.js';
import { type LifeSpan, lifeOf } from './life.js';
import { useCanceler } from './use-canceler.js';
import { de } from './words-de.js';
import { en } from './words-en.js';

const CLASS_OF: Readonly<Record<LifeSpan['kind'], string>> = {
  waiting: 'of-waiting',
  RUNNING: 'of-running',
  FINISHED: 'of-finished',
  FAILED: 'of-failed',
  CANCELED: 'of-canceled',
  CRASH: 'of-failed',
  LOSS: 'of-failed',
  HOST_FAULT: 'of-failed',
  RETURN: 'of-canceled',
};

/** A span is at least this part of the bar, so that it can be seen. */
const LEAST_SHARE = 0.02;

/** The life of a task as a bar of its waits and attempts, with the same in words below it. */
export function Timeline({ task }: { readonly task: TaskDetails }) {
  const words = useWords<typeof en>({ en, de });
  const nowMs = useNow();
  const spans = lifeOf(task);
  const lengths = spans.map(({ from, to }) =>
    Math.max(0, (to === undefined ? nowMs : Date.parse(to)) - Date.parse(from)),
  );
  const total = Math.max(
    lengths.reduce((sum, length) => sum + length, 0),
    1,
  );
  return (
    <section className="card life" aria-labelledby="life-title">
      <h2 id="life-title">{words.life}</h2>
      <div className="life-bar" aria-hidden="true">
        {spans.map(({ key, kind }, at) => (
          <span
            key={key}
            className={`${CLASS_OF[kind]} ${kind === 'RUNNING' ? 'lasting' : ''}`}
            style={{ flexGrow: Math.max((lengths[at] ?? 0) / total, LEAST_SHARE) }}
          />
        ))}
      </div>
      <ol className="life-spans">
        {spans.map((span) => (
          <SpanLine key={span.key} span={span} />
        ))}
        {task.status === 'CANCELED' && task.endedAt !== undefined && (
          <Cancellation task={task} at={task.endedAt} />
        )}
      </ol>
    </section>
  );
}

interface CancellationProps {
  readonly task: TaskDetails;
  readonly at: string;
}

/** The cancellation of a task: when, and by whom as far as the reader may know. */
function Cancellation({ task, at }: CancellationProps) {
  const words = useWords<typeof en>({ en, de });
  const canceler = useCanceler(task);
  return (
    <li className="of-canceled">
      <span className="dot" aria-hidden="true" />
      <div>
        <strong>{words.outcomeCanceled}</strong>
        {canceler !== undefined && <span className="quiet"> {words.byUser(canceler)}</span>}
      </div>
      <span className="quiet when">
        <Time at={at} />
      </span>
    </li>
  );
}

function SpanLine({ span: { kind, attempt, from, to } }: { readonly span: LifeSpan }) {
  const words = useWords<typeof en>({ en, de });
  return (
    <li className={CLASS_OF[kind]}>
      <span className="dot" aria-hidden="true" />
      <div>
        <strong>{attempt ? words.attempt(String(attempt.attempt)) : words.waiting}</strong>
        {attempt && (
          <>
            {' '}
            <span className="quiet">{words.onInstance(attempt.instance.id)}</span>{' '}
            <span className="outcome">{words.outcomes[attempt.outcome]}</span>
          </>
        )}
        {attempt?.reason !== undefined && (
          <p className="reason">
            <HubWords>{attempt.reason}</HubWords>
          </p>
        )}
      </div>
      <span className="quiet when">
        <Time at={from} />
      </span>
      <span className="long">
        <Duration from={from} to={to} />
      </span>
    </li>
  );
}
