import type { FormEvent, ReactNode } from 'react';
import { Icon } from '../icons/icon.js';
import { Refusal } from './refusal.js';

interface LineFormProps {
  readonly label?: string;
  /** Word on the button. */
  readonly action: string;
  /** Words before the hub's reason for a refusal. */
  readonly refused: string;
  /** Whether everything is filled in. */
  readonly isComplete: boolean;
  readonly mutation: {
    readonly isPending: boolean;
    readonly error: Error | null;
    readonly mutate: () => void;
  };
  /** Fields, of which the first takes the room. */
  readonly children: ReactNode;
}

/** A form in a line that makes something new. */
export function LineForm({ label, action, refused, isComplete, mutation, children }: LineFormProps) {
  const { isPending, error, mutate } = mutation;
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (isComplete) mutate();
  };
  return (
    <form className="card line-form" onSubmit={submit} aria-label={label}>
      {children}
      <button type="submit" className="button primary" disabled={isPending || !isComplete}>
        <Icon name="plus" />
        {action}
      </button>
      {error && <Refusal words={refused} error={error} />}
    </form>
  );
}
