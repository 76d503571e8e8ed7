/** States of a view that has nothing to show yet, or cannot show it. */
import { PermissionError } from '@workbench-hub/client';
import type { ReactNode } from 'react';
import { useSteadyError } from '../base/use-steady-error.js';
import { Icon, type IconName } from '../icons/icon.js';
import { useCommonWords } from '../words/common.js';
import { ErrorWords } from './hub-words.js';

interface EmptyProps {
  readonly icon: IconName;
  readonly title: string;
  /** Whether there is nothing else on the screen, so that this is its heading. */
  readonly isScreen?: boolean;
  readonly children?: ReactNode;
}

export function Empty({ icon, title, isScreen = false, children }: EmptyProps) {
  const Title = isScreen ? 'h1' : 'strong';
  return (
    <div className="state">
      <Icon name={icon} size={28} />
      <Title>{title}</Title>
      {children}
    </div>
  );
}

/** Lines in the place of what is on its way. */
export function Loading({ lines = 6 }: { readonly lines?: number }) {
  const words = useCommonWords();
  return (
    <div className="loading" role="status">
      <span className="visually-hidden">{words.loading}</span>
      {Array.from({ length: lines }, (_, line) => (
        <div key={line} className="skeleton" />
      ))}
    </div>
  );
}

interface FailureProps {
  readonly error: Error;
  readonly onAgain?: () => void;
  /** Whether there is nothing else on the screen, so that this is its heading. */
  readonly isScreen?: boolean;
}

/** Failure or refusal of the hub. */
export function Failure({ error, onAgain, isScreen = false }: FailureProps) {
  const words = useCommonWords();
  const isRefused = error instanceof PermissionError;
  const Title = isScreen ? 'h1' : 'strong';
  return (
    <div className="state" role="alert">
      <Icon name={isRefused ? 'shield' : 'triangle-exclamation-point'} size={28} />
      <Title>{isRefused ? words.refused : words.failed}</Title>
      <p>
        <ErrorWords error={error} />
      </p>
      {onAgain && !isRefused && (
        <button type="button" className="button" onClick={onAgain}>
          <Icon name="refresh-cw" />
          {words.again}
        </button>
      )}
    </div>
  );
}

interface NoDataProps {
  readonly query: {
    readonly data: unknown;
    readonly error: Error | null;
    readonly refetch: () => unknown;
  };
  readonly lines?: number;
}

/** Failure or lines in the place of data that are not there; nothing once they are. */
export function NoData({ query, lines }: NoDataProps) {
  const error = useSteadyError(query);
  if (query.data !== undefined) return null;
  return error ? <Failure error={error} onAgain={() => void query.refetch()} /> : <Loading lines={lines} />;
}
