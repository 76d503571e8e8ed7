import { AlertDialog } from '@base-ui/react/alert-dialog';
import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import { Icon } from '../icons/icon.js';
import { useCommonWords } from '../words/common.js';
import { useWords } from '../words/dictionary.js';
import type { ConfirmDialogProps, Question } from './question.js';
import { Refusal } from './refusal.js';

const en = { keep: 'No, leave it', failed: 'The hub refused:' };
const de: typeof en = { keep: 'Nein, so lassen', failed: 'Der Hub lehnt ab:' };

/** The dialog of a question. */
export function QuestionDialog({ question, onClose }: ConfirmDialogProps) {
  // The last question stays in the dialog while that fades.
  const [last, setLast] = useState(question);
  if (question !== undefined && question !== last) setLast(question);
  return (
    <AlertDialog.Root open={question !== undefined} onOpenChange={(isOpen) => isOpen || onClose()}>
      <AlertDialog.Portal>
        <AlertDialog.Backdrop className="veil" />
        <AlertDialog.Popup className="dialog">
          {last && <Asked question={last} onClose={onClose} />}
        </AlertDialog.Popup>
      </AlertDialog.Portal>
    </AlertDialog.Root>
  );
}

function Asked({ question, onClose }: { readonly question: Question; readonly onClose: () => void }) {
  const words = useWords<typeof en>({ en, de });
  const common = useCommonWords();
  const { icon, label, title, more } = question;
  const { mutate, isPending, error } = useMutation({ mutationFn: () => question.act(), onSuccess: onClose });
  return (
    <>
      <AlertDialog.Title>{title}</AlertDialog.Title>
      <AlertDialog.Description className="quiet" render={<div />}>
        {more}
      </AlertDialog.Description>
      {error !== null && <Refusal words={words.failed} error={error} />}
      <div className="actions">
        <AlertDialog.Close className="button">{error === null ? words.keep : common.close}</AlertDialog.Close>
        <button type="button" className="button danger" disabled={isPending} onClick={() => mutate()}>
          <Icon name={icon} />
          {label}
        </button>
      </div>
    </>
  );
}
