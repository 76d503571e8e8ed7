import { useMutation } from '@tanstack/react-query';
import type { StudyDetails } from '@workbench-hub/client';
import { useState } from 'react';
import { useLocation } from 'wouter';
import { usePreferences } from '../../base/preference-store.js';
import { hub, usePerson, useRole } from '../../data/hub.js';
import { queryClient } from '../../data/query-client.js';
import { ConfirmDialog } from '../../design/confirm-dialog.js';
import type { Question } from '../../design/question.js';
import { Refusal } from '../../design/refusal.js';
import { Icon, type IconName } from '../../icons/icon.js';
import { useWords } from '../../words/dictionary.js';
import { numberText } from '../../words/formats.js';
import { FAILURES, failedCount } from './progress.js';
import { refreshStudies, studyKey } from './use-study.js';
import { de } from './words-de.js';
import { en } from './words-en.js';

/** Actions that the caller may take on a study in its present state. */
export function StudyActions({ study }: { readonly study: StudyDetails }) {
  const person = usePerson();
  const isUser = useRole('USER');
  const isAdmin = useRole('ADMIN');
  if (!isUser || !(isAdmin || study.creator === person?.username)) return null;
  return <Actions study={study} />;
}

function Actions({ study: { id, state, points, name } }: { readonly study: StudyDetails }) {
  const words = useWords<typeof en>({ en, de });
  const ask = useQuestions(id, name);
  const { mutate, isPending, error } = useMutation({
    mutationFn: async (act: 'pause' | 'resume') => {
      await hub.study(id)[act]();
      await refreshStudies();
    },
  });
  const failed = failedCount(points);
  const button = (icon: IconName, label: string, act: () => void) => (
    <button type="button" className="button" disabled={isPending} onClick={act}>
      <Icon name={icon} />
      {label}
    </button>
  );
  const hasEnded = state === 'STOPPED' || state === 'FINISHED';
  return (
    <>
      <div className="view-actions">
        {state === 'RUNNING' && button('pause', words.pause, () => mutate('pause'))}
        {(state === 'PAUSED' || state === 'STOPPED') && button('play', words.resume, () => mutate('resume'))}
        {!hasEnded && button('square', words.stop, ask.stop)}
        {state !== 'STOPPED' && failed > 0 && button('rotate-ccw', words.retry, () => ask.retry(failed))}
        {hasEnded && points.open === 0 && button('trash', words.remove, ask.remove)}
      </div>
      {error && <Refusal words={words.refused} error={error} />}
      <ConfirmDialog question={ask.question} onClose={ask.close} />
    </>
  );
}

/** Questions before a study is stopped or deleted, or many of its points are tried again. */
function useQuestions(id: string, name: string) {
  const words = useWords<typeof en>({ en, de });
  const [{ language }] = usePreferences();
  const [, navigate] = useLocation();
  // As it was asked: the study may end before the answer.
  const [question, setQuestion] = useState<Question>();
  const study = hub.study(id);
  return {
    question,
    close: () => setQuestion(undefined),
    stop: () =>
      setQuestion({
        icon: 'square',
        label: words.stopIt,
        title: words.stopTitle(name),
        more: words.stopMore,
        act: async () => {
          await study.stop();
          await refreshStudies();
        },
      }),
    remove: () =>
      setQuestion({
        icon: 'trash',
        label: words.removeIt,
        title: words.removeTitle(name),
        more: words.removeMore,
        act: async () => {
          await study.delete();
          navigate('/studies');
          queryClient.removeQueries({ queryKey: studyKey(id) });
          await refreshStudies();
        },
      }),
    retry: (count: number) =>
      setQuestion({
        icon: 'rotate-ccw',
        label: words.retryIt,
        title: words.retryTitle(numberText(count, language)),
        more: words.retryMore,
        act: async () => {
          await study.retry(FAILURES);
          await refreshStudies();
        },
      }),
  };
}
