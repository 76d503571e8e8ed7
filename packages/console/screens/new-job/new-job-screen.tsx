import { NotFoundError } from '@workbench-hub/client';
import { useEffect, useState } from 'react';
import { Link, useLocation } from 'wouter';
import { usePreferences } from '../../base/preference-store.js';
import { useStore } from '../../base/store.js';
import { useTitle } from '../../base/use-title.js';
import { useRole } from '../../data/hub.js';
import { Refusal } from '../../design/refusal.js';
import { Empty, Loading } from '../../design/states.js';
import { Icon } from '../../icons/icon.js';
import { useCommonWords } from '../../words/common.js';
import { useWords } from '../../words/dictionary.js';
import { sizeText } from '../../words/formats.js';
import { AnswerCard } from './answer-card.js';
import { type Draft, EMPTY_DRAFT, faultsOf } from './draft.js';
import { beginDraft, draftStore } from './draft-store.js';
import { FilesCard } from './files-card.js';
import { handIn, handIns } from './hand-in.js';
import { LinesCard } from './lines-card.js';
import { MoreCard, PlaceCard } from './place-card.js';
import { Sending } from './sending.js';
import { SimulatedCard } from './simulated-card.js';
import { TemplatesCard } from './templates-card.js';
import { useEarlierTask } from './use-earlier-task.js';
import { VariablesCard } from './variables-card.js';
import { de } from './words-de.js';
import { en } from './words-en.js';

/** A job is put together and handed in; with `?from=<task>`, the job of that task once more. */
export function NewJobScreen() {
  const words = useWords<typeof en>({ en, de });
  const common = useCommonWords();
  useTitle(words.title);
  if (useRole('USER')) return <NewJob />;
  return (
    <Empty icon="shield" title={common.refused} isScreen>
      <p>{common.refusedWhy('USER')}</p>
    </Empty>
  );
}

function changeVariables(variables: Draft['variables']): void {
  draftStore.set({ ...draftStore.get(), variables });
}

function NewJob() {
  const words = useWords<typeof en>({ en, de });
  const draft = useStore(draftStore);
  const from = useEarlierTask();
  const isAgain = from?.isLoading || draft.earlierTaskId === from?.id;
  const change = (changed: Draft) => draftStore.set(changed);
  return (
    <section className="new-job" aria-labelledby="new-job-title">
      <header className="new-job-head">
        <h1 id="new-job-title">
          {from === undefined || !isAgain
            ? words.title
            : from.name === undefined
              ? words.againNameless
              : words.again(from.name)}
        </h1>
        {draft !== EMPTY_DRAFT && (
          <button type="button" className="button plain" onClick={() => change(EMPTY_DRAFT)}>
            <Icon name="rotate-ccw" />
            {words.clear}
          </button>
        )}
      </header>
      {from?.error && <NoEarlierTask error={from.error} />}
      {from?.isBundle && <Bundle studyId={from.studyId} />}
      {from?.isLoading ? <Loading /> : <Cards draft={draft} onChange={change} />}
    </section>
  );
}

interface CardsProps {
  readonly draft: Draft;
  readonly onChange: (changed: Draft) => void;
}

function Cards({ draft, onChange: change }: CardsProps) {
  return (
    <div className="new-job-columns">
      <div className="new-job-main">
        {draft.simulatedS !== undefined && <SimulatedCard draft={draft} onChange={change} />}
        {draft.simulatedS === undefined && (
          <>
            <FilesCard draft={draft} onChange={change} />
            <VariablesCard variables={draft.variables} onChange={changeVariables} />
          </>
        )}
        <PlaceCard draft={draft} onChange={change} />
        <MoreCard draft={draft} onChange={change} />
      </div>
      <div className="new-job-side">
        <AnswerCard draft={draft} />
        <HandIn draft={draft} />
        <TemplatesCard draft={draft} onUse={beginDraft} />
        {draft.simulatedS === undefined && <LinesCard draft={draft} />}
      </div>
    </div>
  );
}

/** A notice in place of the job of a task that ran several points of a study. */
function Bundle({ studyId }: { readonly studyId: string | undefined }) {
  const words = useWords<typeof en>({ en, de });
  return (
    <div className="notice of-waiting" role="alert">
      <Icon name="info" />
      <span>{words.bundle}</span>
      {studyId !== undefined && (
        <Link href={`/studies/${studyId}`} className="button">
          {words.toStudy}
        </Link>
      )}
    </div>
  );
}

function NoEarlierTask({ error }: { readonly error: Error }) {
  const words = useWords<typeof en>({ en, de });
  if (!(error instanceof NotFoundError)) return <Refusal words={words.noEarlierTask} error={error} />;
  return (
    <p className="notice of-waiting" role="alert">
      <Icon name="info" />
      <span>{words.earlierTaskGone}</span>
    </p>
  );
}

/** The button that hands the job in, and what stands against it. */
function HandIn({ draft }: { readonly draft: Draft }) {
  const words = useWords<typeof en>({ en, de });
  const [{ language }] = usePreferences();
  const [, navigate] = useLocation();
  const [isTried, setTried] = useState(false);
  const { isPending, subject, progress, error } = useStore(handIns.state);
  // Another job may have been handed in before, and may still be on its way.
  const isOfDraft = subject?.earlierTaskId === draft.earlierTaskId;
  useEffect(
    () => (isOfDraft ? handIns.onDone(({ id }) => navigate(`/tasks/${id}`)) : undefined),
    [navigate, isOfDraft],
  );
  const faults = faultsOf(draft);
  const { files } = isPending && subject ? subject : draft;
  const bytes = files.reduce((sum, { size }) => sum + size, 0);
  const begin = () => {
    setTried(true);
    if (faults.length === 0) handIn(draft);
  };
  return (
    <div className="hand-in">
      <div role="alert">
        {isTried && faults.length > 0 && (
          <ul className="notice of-failed faults">
            {faults.map((fault) => (
              <li key={fault}>{words.faults[fault]}</li>
            ))}
          </ul>
        )}
        {error !== null && isOfDraft && draft !== EMPTY_DRAFT && (
          <Refusal words={words.refused} error={error} />
        )}
      </div>
      <button type="button" className="button primary big" disabled={isPending} onClick={begin}>
        <Icon name={isPending ? 'loader-circle' : 'play'} />
        {isPending ? words.handingIn(sizeText(bytes, language)) : words.handIn}
      </button>
      {draft.simulatedS === undefined && !isPending && (
        <Link href="/studies/new" className="button">
          <Icon name="flask-conical" />
          {words.asStudy}
        </Link>
      )}
      {isPending && <Sending progress={progress} onStop={() => handIns.stop()} />}
    </div>
  );
}
