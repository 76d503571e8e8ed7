import { lazy, Suspense, useState } from 'react';
import type { ConfirmDialogProps } from './question.js';

const QuestionDialog = lazy(async () => ({
  default: (await import('./question-dialog.js')).QuestionDialog,
}));

/** A question before something is done that others feel. Says why when the hub refuses. The dialog is loaded with the
 *  first question, since it is a third of what a screen would load without it. */
export function ConfirmDialog({ question, onClose }: ConfirmDialogProps) {
  const [wasAsked, setAsked] = useState(false);
  if (question !== undefined && !wasAsked) setAsked(true);
  if (!wasAsked) return null;
  return (
    <Suspense>
      <QuestionDialog question={question} onClose={onClose} />
    </Suspense>
  );
}
