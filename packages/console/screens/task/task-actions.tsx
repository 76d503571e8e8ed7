import { AlertDialog } from '@base-ui/react/alert-dialog';
import { useMutation } from '@tanstack/react-query';
import type { TaskDetails } from '@workbench-hub/client';
import { useState } from 'react';
import { Link, useLocation } from 'wouter';
import { hub, usePerson, useRole } from '../../data/hub.js';
import { queryClient } from '../../data/query-client.js';
import { Icon, type IconName } from '../../icons/icon.js';
import { taskKey } from '../../live/live-cache.js';
import { useCommonWords } from '../../words/common.js';
import { useWords } from '../../words/dictionary.js';
import { isEnded } from './use-task.js';
import { de } from './words-de.js';
import { en } from './words-en.js';

/** Actions on a task: run its job again, cancel or delete it. */
export function TaskActions({ task }: { readonly task: TaskDetails }) {
  const words = useWords<typeof en>({ en, de });
  const person = usePerson();
  const isUser = useRole('USER');
  const isAdmin = useRole('ADMIN');
  if (!isUser) return null;
  const isOwn = isAdmin || task.creator === person?.username;
  return (
    <div className="task-actions">
      {task.type === 'EXECUTE_BATCH_JOB' && (
        <Link href={`/new?from=${task.id}`} className="button">
          <Icon name="rotate-ccw" />
          {words.runAgain}
        </Link>
      )}
      {isOwn && <EndOfTask task={task} />}
    </div>
  );
}

/** Cancel before the end, delete after it. */
function EndOfTask({ task }: { readonly task: TaskDetails }) {
  const words = useWords<typeof en>({ en, de });
  const common = useCommonWords();
  const [, navigate] = useLocation();
  const name = task.name ?? common.noName;
  return (
    <>
      {isEnded(task) ? (
        <ConfirmedAction
          icon="trash"
          label={words.remove}
          title={words.removeTitle(name)}
          more={words.removeMore}
          act={async () => {
            await hub.task(task.id).delete();
            navigate('/tasks');
            queryClient.removeQueries({ queryKey: taskKey(task.id) });
          }}
        />
      ) : (
        <ConfirmedAction
          icon="ban"
          label={words.cancel}
          title={words.cancelTitle(name)}
          more={task.status === 'RUNNING' ? words.cancelRunning : words.cancelWaiting}
          act={async () => {
            await hub.task(task.id).cancel({ force: true });
            await queryClient.invalidateQueries({ queryKey: taskKey(task.id) });
          }}
        />
      )}
    </>
  );
}

interface ConfirmedActionProps {
  readonly icon: IconName;
  readonly label: string;
  readonly title: string;
  readonly more: string;
  readonly act: () => Promise<void>;
}

/** A button that asks first, and says why when the hub refuses. */
function ConfirmedAction({ icon, label, title, more, act }: ConfirmedActionProps) {
  const words = useWords<typeof en>({ en, de });
  const [isOpen, setOpen] = useState(false);
  const { mutate, isPending, error, reset } = useMutation({
    mutationFn: act,
    onSuccess: () => setOpen(false),
  });
  const onOpenChange = (open: boolean) => {
    reset();
    setOpen(open);
  };
  return (
    <AlertDialog.Root open={isOpen} onOpenChange={onOpenChange}>
      <AlertDialog.Trigger className="button">
        <Icon name={icon} />
        {label}
      </AlertDialog.Trigger>
      <AlertDialog.Portal>
        <AlertDialog.Backdrop className="veil" />
        <AlertDialog.Popup className="dialog">
          <AlertDialog.Title>{title}</AlertDialog.Title>
          <AlertDialog.Description className="quiet">{more}</AlertDialog.Description>
          {error !== null && (
            <p className="notice of-failed" role="alert">
              <span>
                {words.changeFailed} {error.message}
              </span>
            </p>
          )}
          <div className="actions">
            <AlertDialog.Close className="button">{words.keep}</AlertDialog.Close>
            <button type="button" className="button danger" disabled={isPending} onClick={() => mutate()}>
              <Icon name={icon} />
              {label}
            </button>
          </div>
        </AlertDialog.Popup>
      </AlertDialog.Portal>
    </AlertDialog.Root>
  );
}
