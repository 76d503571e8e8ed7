import type { TaskDetails } from '@workbench-hub/client';
import { useState } from 'react';
import { Link } from 'wouter';
import { usePreferences } from '../../base/preference-store.js';
import { useNamedStudy } from '../../data/named-study.js';
import { Fact } from '../../design/fact.js';
import { Duration, Time } from '../../design/time.js';
import { Icon } from '../../icons/icon.js';
import { useCommonWords } from '../../words/common.js';
import { useWords } from '../../words/dictionary.js';
import { durationText, numberText } from '../../words/formats.js';
import { de } from './words-de.js';
import { en } from './words-en.js';

const COPIED_MS = 1500;

/** The particulars of a task. */
export function Facts({ task }: { readonly task: TaskDetails }) {
  const words = useWords<typeof en>({ en, de });
  const common = useCommonWords();
  const [{ language }] = usePreferences();
  const { requirement, instance, creator, note, startedAt, endedAt, timeLimit, duration, hostModel } = task;
  return (
    <section className="card facts" aria-labelledby="facts-title">
      <h2 id="facts-title">{words.facts}</h2>
      <dl>
        {task.study && (
          <Fact label={words.study}>
            <PointOfStudy study={task.study} taskName={task.name} />
          </Fact>
        )}
        <Fact label={words.requested}>
          <Time at={task.requestedAt} />
        </Fact>
        {startedAt !== undefined && (
          <Fact label={words.started}>
            <Time at={startedAt} />
          </Fact>
        )}
        {startedAt !== undefined && (
          <Fact label={words.took}>
            <Duration from={startedAt} to={endedAt} />
          </Fact>
        )}
        {creator !== undefined && <Fact label={words.creator}>{creator}</Fact>}
        {note && (
          <Fact label={words.note}>
            <span className="note">{note}</span>
          </Fact>
        )}
        <Fact label={words.priority}>{common.priority[task.priority]}</Fact>
        <Fact label={words.needs}>
          <span className="tags">
            <span className="tag">{requirement.version ?? words.anyVersion}</span>
            {requirement.labels.map((label) => (
              <span key={label} className="tag">
                {label}
              </span>
            ))}
          </span>
        </Fact>
        {instance && (
          <Fact label={words.ranOn}>
            {instance.id} <span className="quiet">{instance.version}</span>
            <br />
            <span className="quiet">{instance.agentId ?? words.ownHost}</span>
          </Fact>
        )}
        {timeLimit !== undefined && (
          <Fact label={words.timeLimit}>{durationText(timeLimit * 1000, language)}</Fact>
        )}
        {duration !== undefined && <Fact label={words.model}>{words.simulated(String(duration))}</Fact>}
        {hostModel && (
          <Fact label={words.hostModel}>
            <code>{hostModel.path}</code>
          </Fact>
        )}
        <Fact label={words.id}>
          <CopiedText text={task.id} label={words.copyId} />
        </Fact>
      </dl>
    </section>
  );
}

interface PointOfStudyProps {
  readonly study: NonNullable<TaskDetails['study']>;
  /** It begins with the name of the study. */
  readonly taskName: string | undefined;
}

/** Number of the point whose task it is, with a link to the study while there is one. */
function PointOfStudy({ study: { id, point }, taskName }: PointOfStudyProps) {
  const words = useWords<typeof en>({ en, de });
  const [{ language }] = usePreferences();
  const { data: study } = useNamedStudy(id);
  const name = taskName?.replace(new RegExp(` #${point}$`), '') ?? id;
  const text = words.pointOf(numberText(point, language), name);
  if (study === null) return <>{`${text} ${words.studyDeleted}`}</>;
  return <Link href={`/studies/${id}`}>{text}</Link>;
}

/** A text with a button that copies it. */
function CopiedText({ text, label }: { readonly text: string; readonly label: string }) {
  const common = useCommonWords();
  const [isCopied, setCopied] = useState(false);
  const copy = async () => {
    await navigator.clipboard.writeText(text);
    setCopied(true);
    setTimeout(() => setCopied(false), COPIED_MS);
  };
  return (
    <span className="copied-text">
      <code>{text}</code>
      {navigator.clipboard && (
        <button
          type="button"
          className="button plain only-icon small"
          aria-label={label}
          onClick={() => void copy()}
        >
          <Icon name={isCopied ? 'check' : 'copy'} size={14} />
        </button>
      )}
      <span className="visually-hidden" role="status">
        {isCopied && common.copied}
      </span>
    </span>
  );
}
