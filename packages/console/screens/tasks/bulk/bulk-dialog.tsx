import { AlertDialog } from '@base-ui/react/alert-dialog';
import { useMutation, useQuery } from '@tanstack/react-query';
import type { api, TaskFilter } from '@workbench-hub/client';
import { type RefObject, useState } from 'react';
import { usePreferences } from '../../../base/preference-store.js';
import { useRole } from '../../../data/hub.js';
import { Refusal } from '../../../design/refusal.js';
import { Failure } from '../../../design/states.js';
import { StatusBadge } from '../../../design/status.js';
import { Icon } from '../../../icons/icon.js';
import { useWords } from '../../../words/dictionary.js';
import { numberText } from '../../../words/formats.js';
import { useTaskName } from '../../../words/task-name.js';
import { type BulkKind, changeAll, previewOf } from './bulk-change.js';
import { de } from './words-de.js';
import { en } from './words-en.js';

interface BulkDialogProps {
  readonly kind: BulkKind;
  readonly filter: TaskFilter;
  /** Set when the reader has set no filter, with whether tasks of studies are meant, too. */
  readonly unfiltered: { readonly hasPoints: boolean } | undefined;
  /** Where the focus returns. */
  readonly opener: RefObject<HTMLElement | null>;
  readonly onClose: () => void;
}

/** Shows what a change would hit, and then does it. */
export function BulkDialog({ kind, filter, unfiltered, opener, onClose }: BulkDialogProps) {
  const words = useWords<typeof en>({ en, de });
  const [{ language }] = usePreferences();
  const [force, setForce] = useState(false);
  const [changed, setChanged] = useState(0);
  const request = { kind, filter, force };
  const preview = useQuery({
    queryKey: ['bulk', kind, filter, force],
    queryFn: ({ signal }) => previewOf(request, signal),
    gcTime: 0,
  });
  const change = useMutation({ mutationFn: () => changeAll(request, setChanged) });
  const { data } = preview;
  const count = numberText(changed, language);
  const canBegin = data !== undefined && data.matched !== 0 && !change.isSuccess;
  return (
    <AlertDialog.Root open onOpenChange={(isOpen) => isOpen || change.isPending || onClose()}>
      <AlertDialog.Portal>
        <AlertDialog.Backdrop className="veil" />
        <AlertDialog.Popup className="dialog bulk-dialog" finalFocus={opener}>
          <AlertDialog.Title>{kind === 'cancel' ? words.cancelTitle : words.deleteTitle}</AlertDialog.Title>
          <AlertDialog.Description className="quiet" render={<div />}>
            <Scope unfiltered={unfiltered} />
          </AlertDialog.Description>
          {kind === 'cancel' && !change.isSuccess && (
            <label className="check">
              <input
                type="checkbox"
                checked={force}
                disabled={change.isPending}
                onChange={(event) => setForce(event.target.checked)}
              />
              {words.force}
            </label>
          )}
          <div role="status">
            {preview.isPending && <p className="faint">{words.counting}</p>}
            {change.isPending && <p>{words.going(count)}</p>}
            {change.isSuccess && <p className="bulk-done">{words.done(count)}</p>}
            {data && change.isIdle && <Matched kind={kind} outcome={data} />}
          </div>
          {preview.error && <Failure error={preview.error} />}
          {data && data.tasks.length > 0 && change.isIdle && <Hits outcome={data} />}
          {change.error && <Refusal words={words.failed(count)} error={change.error} />}
          <div className="actions">
            <AlertDialog.Close className="button" disabled={change.isPending}>
              {change.isIdle ? words.keep : words.close}
            </AlertDialog.Close>
            {canBegin && (
              <button
                type="button"
                className="button danger"
                disabled={change.isPending}
                onClick={() => change.mutate()}
              >
                <Icon name={kind === 'cancel' ? 'ban' : 'trash'} />
                {change.isError ? words.again : beginText(kind, hitsText(data, language, words), words)}
              </button>
            )}
          </div>
        </AlertDialog.Popup>
      </AlertDialog.Portal>
    </AlertDialog.Root>
  );
}

function Scope({ unfiltered }: Pick<BulkDialogProps, 'unfiltered'>) {
  const words = useWords<typeof en>({ en, de });
  const isAdmin = useRole('ADMIN');
  return (
    <>
      {unfiltered && (
        <p className="notice of-waiting">
          <Icon name="triangle-exclamation-point" />
          <span>{unfiltered.hasPoints ? words.noFilterAtAll : words.noFilter}</span>
        </p>
      )}
      <p>
        {isAdmin ? words.ofAll : words.ofYours} {words.tooLate}
      </p>
    </>
  );
}

interface MatchedProps {
  readonly kind: BulkKind;
  readonly outcome: api.BulkOutcome;
}

/** How many tasks would be changed. */
function Matched({ kind, outcome }: MatchedProps) {
  const words = useWords<typeof en>({ en, de });
  const [{ language }] = usePreferences();
  const hits = hitsText(outcome, language, words);
  const text = kind === 'cancel' ? words.hitsCancel(hits) : words.hitsDelete(hits);
  return (
    <p>
      <strong>{outcome.matched === 0 ? words.none : text}</strong>
    </p>
  );
}

/** The first of the tasks that would be changed. */
function Hits({ outcome: { tasks } }: { readonly outcome: api.BulkOutcome }) {
  const words = useWords<typeof en>({ en, de });
  const nameOf = useTaskName();
  const [{ language }] = usePreferences();
  const label = words.first(numberText(tasks.length, language));
  return (
    <ul className="bulk-hits" aria-label={label} tabIndex={0}>
      {tasks.map((task) => (
        <li key={task.id}>
          <StatusBadge status={task.status} isPlain />
          <span className="bulk-name">{nameOf(task)}</span>
          <span className="faint">{task.creator}</span>
        </li>
      ))}
    </ul>
  );
}

/** Words of the button that begins the change. */
function beginText(
  kind: BulkKind,
  hits: string,
  { doCancel, doDelete }: Pick<typeof en, 'doCancel' | 'doDelete'>,
): string {
  return kind === 'cancel' ? doCancel(hits) : doDelete(hits);
}

function hitsText(
  { matched, more }: api.BulkOutcome,
  language: 'en' | 'de',
  words: Pick<typeof en, 'orMore'>,
): string {
  const count = numberText(matched, language);
  return more ? words.orMore(count) : count;
}
