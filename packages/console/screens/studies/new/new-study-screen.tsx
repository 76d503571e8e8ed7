import { HubError, NotFoundError } from '@workbench-hub/client';
import { useEffect, useLayoutEffect, useState } from 'react';
import { Link, useLocation } from 'wouter';
import { useStore } from '../../../base/store.js';
import { useTitle } from '../../../base/use-title.js';
import { useRole } from '../../../data/hub.js';
import { Empty, Failure, Loading } from '../../../design/states.js';
import { useCommonWords } from '../../../words/common.js';
import { useWords } from '../../../words/dictionary.js';
import { AnswerCard } from '../../new-job/answer-card.js';
import { type Draft, EMPTY_DRAFT, faultsOf as faultsOfJob } from '../../new-job/draft.js';
import { draftStore } from '../../new-job/draft-store.js';
import { useEarlierTask } from '../../new-job/use-earlier-task.js';
import { useTask } from '../../task/use-task.js';
import type { ShownFault } from './fault-field.js';
import { JobCard } from './job-card.js';
import { PlanCard } from './plan-card.js';
import { baseOf, plannedOf } from './planned.js';
import { PointsCard } from './points-card.js';
import { StartCard } from './start-card.js';
import { startStudy, studyStarts } from './start-study.js';
import { faultsIn, faultsOf, type StudyDraft } from './study-draft.js';
import { beginStudy, goOnWith, studyStore } from './study-store.js';
import { useValueOffers } from './use-value-offers.js';
import { ruleOf, type ValueOffer } from './value-rules.js';
import { ValuesCard } from './values-card.js';
import { VaryCard } from './vary-card.js';
import { de } from './words-de.js';
import { en } from './words-en.js';

/** A study is put together from a job: with `?from=<task>`, from that of the task; otherwise from that of the form for a new job. */
export function NewStudyScreen() {
  const words = useWords<typeof en>({ en, de });
  const common = useCommonWords();
  useTitle(words.title);
  if (useRole('USER')) return <NewStudy />;
  return (
    <Empty icon="shield" title={common.refused} isScreen>
      <p>{common.refusedWhy('USER')}</p>
    </Empty>
  );
}

function NewStudy() {
  const words = useWords<typeof en>({ en, de });
  const job = useStore(draftStore);
  const from = useEarlierTask(beginStudy);
  const isJobThere = from === undefined || !from.isLoading;
  useLayoutEffect(() => {
    if (isJobThere) goOnWith(draftStore.get());
  }, [isJobThere]);
  if (from?.isLoading) return <Loading lines={12} />;
  if (from?.error instanceof NotFoundError) return <NoJob title={words.earlierTaskGone} />;
  if (from?.isBundle) return <NoJob title={words.bundleOfPoints} studyId={from.studyId} />;
  if (from?.error) return <Failure error={from.error} onAgain={from.again} isScreen />;
  if (job === EMPTY_DRAFT) return <NoJob title={words.noJob} />;
  if (job.simulatedS !== undefined) return <NoJob title={words.simulated} />;
  return (
    <section className="screen" aria-labelledby="new-study-title">
      <header className="screen-head">
        <h1 id="new-study-title">{job.name === '' ? words.title : words.titleOf(studyNameOf(job))}</h1>
      </header>
      <Form job={job} />
    </section>
  );
}

/** Name of the job, without the number that it has as one that runs again. */
function studyNameOf({ name }: Draft): string {
  return name.replace(/ \(\d+\)$/, '');
}

/** The ways to a job when there is none. */
function NoJob({ title, studyId }: { readonly title: string; readonly studyId?: string | undefined }) {
  const words = useWords<typeof en>({ en, de });
  return (
    <Empty icon="flask-conical" title={title} isScreen>
      <p>{words.noJobMore}</p>
      <div className="new-study-ways">
        {studyId !== undefined && (
          <Link href={`/studies/${studyId}`} className="button">
            {words.toStudy}
          </Link>
        )}
        <Link href="/tasks" className="button">
          {words.tasks}
        </Link>
        <Link href="/new" className="button">
          {words.newJob}
        </Link>
      </div>
    </Empty>
  );
}

const NO_OFFERS: readonly ValueOffer[] = [];

function Form({ job }: { readonly job: Draft }) {
  const study = useStore(studyStore);
  const { data: task } = useTask(job.earlierTaskId ?? '', job.earlierTaskId !== undefined);
  const query = useValueOffers(task);
  const offers = query.data ?? NO_OFFERS;
  const { start, starting, shown } = useStart(job, study, offers);
  const base = baseOf(study.varied, job.variables);
  const isComplete = faultsOf({ ...study, name: '-', rules: [] }, () => true).length === 0;
  const planned = isComplete ? plannedOf(study, base) : undefined;
  return (
    <div className="new-study-columns">
      <div className="new-study-main">
        <VaryCard variables={job.variables} study={study} faults={shown.faults} />
        <PlanCard study={study} faults={shown.faults} />
        <ValuesCard study={study} offers={offers} isLoading={query.isLoading} faults={shown.faults} />
        <PointsCard study={study} planned={planned} />
      </div>
      <div className="new-study-side">
        <StartCard
          job={job}
          study={study}
          task={task}
          count={planned?.count}
          faults={shown.faults}
          jobFaults={shown.jobFaults}
          starting={starting}
          onStart={start}
          onStop={() => studyStarts.stop()}
        />
        <JobCard job={job} />
        <AnswerCard draft={job} />
      </div>
    </div>
  );
}

/** The start of the study, and what stands against it. */
function useStart(job: Draft, study: StudyDraft, offers: readonly ValueOffer[]) {
  const words = useWords<typeof en>({ en, de });
  const [, navigate] = useLocation();
  const [isTried, setTried] = useState(false);
  const { isPending, subject, progress, error, isStopped } = useStore(studyStarts.state);
  useEffect(() => studyStarts.onDone(({ id }) => navigate(`/studies/${id}`)), [navigate]);
  const faults = faultsOf(study, (text) => ruleOf(text) !== undefined);
  const jobFaults = faultsOfJob(job);
  /** Form as it was when the last start failed: the refusal is shown until it changes. */
  const [refused, setRefused] = useState<StudyDraft>();
  useEffect(() => {
    if (error !== null) setRefused(studyStore.get());
  }, [error]);
  const isOfJob = subject?.job.earlierTaskId === job.earlierTaskId;
  const refusal = refused === study && isOfJob ? error : null;
  const isOfHub = refusal instanceof HubError && refusal.code === 'INVALID_INPUT';
  const shown: readonly ShownFault[] = [
    ...(isTried
      ? faults.map(({ where, what }) => ({ where, what: words.faults[what], isOfHub: false }))
      : []),
    ...(isOfHub ? faultsIn(refusal.message).map((fault) => ({ ...fault, isOfHub: true })) : []),
  ];
  return {
    starting: {
      isPending,
      progress,
      error: refusal,
      isStopped: isStopped && isOfJob && subject?.study === study,
    },
    shown: { faults: shown, jobFaults: isTried ? jobFaults : [] },
    start: () => {
      setTried(true);
      if (faults.length === 0 && jobFaults.length === 0) startStudy({ job, study }, offers);
    },
  };
}
