import type { TaskDetails } from '@workbench-hub/client';
import { useState } from 'react';
import { Link, useLocation } from 'wouter';
import { hub, usePerson, useRole } from '../../data/hub.js';
import { taskKey } from '../../data/live-cache.js';
import { askAgain, queryClient } from '../../data/query-client.js';
import { ConfirmDialog } from '../../design/confirm-dialog.js';
import type { Question } from '../../design/question.js';
import { Icon } from '../../icons/icon.js';
import { useWords } from '../../words/dictionary.js';
import { useTaskName } from '../../words/task-name.js';
import { isEnded } from './use-task.js';
import { de } from './words-de.js';
import { en } from './words-en.js';

/** Actions on a task: run its job again, or at many points, cancel or delete it. */
export function TaskActions({ task }: { readonly task: TaskDetails }) {
  const words = useWords<typeof en>({ en, de });
  const person = usePerson();
  const isUser = useRole('USER');
  const isAdmin = useRole('ADMIN');
  if (!isUser) return null;
  // Its job is that of several points; the study tries them again.
  const isBundle = task.points !== undefined;
  const isOwn = isAdmin || task.creator === person?.username;
  return (
    <div className="view-actions">
      {!isBundle && (
        <Link href={`/new?from=${task.id}`} className="button">
          <Icon name="rotate-ccw" />
          {words.runAgain}
        </Link>
      )}
      {task.type === 'EXECUTE_BATCH_JOB' && !isBundle && (
        <Link href={`/studies/new?from=${task.id}`} className="button">
          <Icon name="flask-conical" />
          {words.newStudy}
        </Link>
      )}
      {isOwn && <EndOfTask task={task} />}
    </div>
  );
}

/** Cancel before the end, delete after it; a question comes first. */
function EndOfTask({ task }: { readonly task: TaskDetails }) {
  const words = useWords<typeof en>({ en, de });
  const nameOf = useTaskName();
  const [, navigate] = useLocation();
  // As it was asked: the task may end before the answer.
  const [asked, setAsked] = useState<Question>();
  const name = nameOf(task);
  const question: Question = isEnded(task)
    ? {
        icon: 'trash',
        label: words.remove,
        title: words.removeTitle(name),
        more: words.removeMore,
        act: async () => {
          await hub.task(task.id).delete();
          navigate('/tasks');
          queryClient.removeQueries({ queryKey: taskKey(task.id) });
        },
      }
    : {
        icon: 'ban',
        label: words.cancelTask,
        title: words.cancelTitle(name),
        more: task.status === 'RUNNING' ? words.cancelRunning : words.cancelWaiting,
        act: async () => {
          await hub.task(task.id).cancel({ force: true });
          await askAgain({ queryKey: taskKey(task.id) });
        },
      };
  return (
    <>
      <button type="button" className="button" onClick={() => setAsked(question)}>
        <Icon name={question.icon} />
        {isEnded(task) ? words.remove : words.cancel}
      </button>
      <ConfirmDialog question={asked} onClose={() => setAsked(undefined)} />
    </>
  );
}
