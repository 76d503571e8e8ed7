import type { TaskDetails, UploadProgress } from '@workbench-hub/client';
import { useId } from 'react';
import { Link } from 'wouter';
import { usePreferences } from '../../../base/preference-store.js';
import { Refusal } from '../../../design/refusal.js';
import { Icon } from '../../../icons/icon.js';
import { useWords } from '../../../words/dictionary.js';
import { durationText, numberText } from '../../../words/formats.js';
import type { Draft, Fault as JobFault } from '../../new-job/draft.js';
import { Sending } from '../../new-job/sending.js';
import { useAnswer } from '../../new-job/use-offers.js';
import { de as jobDe } from '../../new-job/words-de.js';
import { en as jobEn } from '../../new-job/words-en.js';
import { FaultField, type ShownFault } from './fault-field.js';
import { estimateMs } from './planned.js';
import type { StudyDraft } from './study-draft.js';
import { changeStudy } from './study-store.js';
import { de } from './words-de.js';
import { en } from './words-en.js';

interface StartCardProps {
  readonly job: Draft;
  readonly study: StudyDraft;
  /** Task from whose job it began. */
  readonly task: TaskDetails | undefined;
  /** Number of points; undefined while the form is not complete. */
  readonly count: number | undefined;
  readonly faults: readonly ShownFault[];
  readonly jobFaults: readonly JobFault[];
  readonly starting: {
    readonly isPending: boolean;
    readonly progress: UploadProgress | undefined;
    readonly error: Error | null;
    readonly isStopped: boolean;
  };
  readonly onStart: () => void;
  readonly onStop: () => void;
}

/** Name of the study, its size, and the button that starts it. */
export function StartCard(props: StartCardProps) {
  const { job, study, task, count, faults, jobFaults, starting, onStart, onStop } = props;
  const words = useWords<typeof en>({ en, de });
  const jobWords = useWords<typeof jobEn>({ en: jobEn, de: jobDe });
  return (
    <section className="card part" aria-labelledby="study-start-title">
      <h2 id="study-start-title">{words.study}</h2>
      <FaultField
        id="study-name"
        label={words.name}
        maxLength={200}
        value={study.name}
        faults={faults.filter(({ where }) => where === 'name')}
        onChange={(name) => changeStudy({ name })}
      />
      <Option
        label={words.reuse}
        more={words.reuseMore}
        isChosen={study.reuse}
        onChange={(reuse) => changeStudy({ reuse })}
      />
      <Option
        label={words.bundle}
        more={words.bundleMore}
        isChosen={study.bundle}
        onChange={(bundle) => changeStudy({ bundle })}
      />
      <Estimate job={job} task={task} count={count} />
      <div role="alert">
        {(faults.length > 0 || jobFaults.length > 0) && (
          <div className="notice of-failed new-study-faults">
            {faults.length > 0 && <span>{words.faulty(String(faults.length))}</span>}
            {jobFaults.map((fault) => (
              <span key={fault}>
                {jobWords.faults[fault]} <Link href="/new">{words.changeJob}</Link>
              </span>
            ))}
          </div>
        )}
        {starting.error && <Refusal words={words.refused} error={starting.error} />}
        {starting.isStopped && (
          <p className="notice of-waiting">
            <Icon name="info" />
            <span>{words.stopped}</span>
          </p>
        )}
      </div>
      <button
        type="button"
        className="button primary new-study-start"
        disabled={starting.isPending}
        onClick={onStart}
      >
        <Icon name={starting.isPending ? 'loader-circle' : 'play'} />
        {starting.isPending ? words.starting : words.start}
      </button>
      {starting.isPending && <Sending progress={starting.progress} onStop={onStop} />}
    </section>
  );
}

interface OptionProps {
  readonly label: string;
  /** Explanation, in smaller type. */
  readonly more: string;
  readonly isChosen: boolean;
  readonly onChange: (isChosen: boolean) => void;
}

/** A choice that a study has besides its points. */
function Option({ label, more, isChosen, onChange }: OptionProps) {
  const id = useId();
  return (
    <div>
      <label className="check">
        <input
          type="checkbox"
          checked={isChosen}
          aria-describedby={id}
          onChange={({ target: { checked } }) => onChange(checked)}
        />
        {label}
      </label>
      <p id={id} className="faint">
        {more}
      </p>
    </div>
  );
}

/** Number of points, and the time that they take if each takes as long as the job did. */
function Estimate({ job, task, count }: Pick<StartCardProps, 'job' | 'task' | 'count'>) {
  const words = useWords<typeof en>({ en, de });
  const [{ language }] = usePreferences();
  const { data } = useAnswer(job);
  if (count === undefined) return <p className="faint">{words.notYet}</p>;
  const instances = (data?.instances.idle ?? 0) + (data?.instances.busy ?? 0);
  const runMs =
    task?.status === 'FINISHED' && task.startedAt && task.endedAt
      ? Date.parse(task.endedAt) - Date.parse(task.startedAt)
      : undefined;
  const points = words.pointCount(numberText(count, language));
  const text = (ms: number) => durationText(ms, language);
  return (
    <div>
      <strong className="new-study-count">{points}</strong>
      {data !== undefined && runMs !== undefined && instances > 0 && (
        <>
          <p>{words.roughly(text(estimateMs(runMs, count, instances)))}</p>
          <p className="faint">{words.takesIf(text(runMs), numberText(instances, language))}</p>
        </>
      )}
      {data !== undefined && runMs === undefined && <p className="faint">{words.noRunTime}</p>}
      {data !== undefined && instances === 0 && <p className="faint">{words.noInstance}</p>}
    </div>
  );
}
