import { useRef } from 'react';

interface Asked {
  readonly data: unknown;
  readonly error: Error | null;
}

/** The error of a query that is asked repeatedly, also while it is asked again: otherwise the view would flicker. */
export function useSteadyError({ data, error }: Asked): Error | null {
  const latest = useRef<Error | null>(null);
  if (data !== undefined) latest.current = null;
  else if (error !== null) latest.current = error;
  return error ?? latest.current;
}
