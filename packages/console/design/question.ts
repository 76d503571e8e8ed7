import type { ReactNode } from 'react';
import type { IconName } from '../icons/icon.js';

/** A question to the user before something is done. */
export interface Question {
  readonly icon: IconName;
  /** Word on the button that does it. */
  readonly label: string;
  readonly title: string;
  readonly more: ReactNode;
  act(): Promise<unknown>;
}

export interface ConfirmDialogProps {
  /** Undefined while nothing is asked. */
  readonly question: Question | undefined;
  readonly onClose: () => void;
}
