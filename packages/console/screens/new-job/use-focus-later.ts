import { type RefObject, useEffect, useRef } from 'react';

type Find<T> = (place: T) => HTMLElement | null | undefined;

/**
 * Focuses an element after the next change of the form: one that is added by it, or a neighbor of one that goes.
 * Gives the place in which it is looked for, and the function that asks for it before the change.
 */
export function useFocusLater<T extends HTMLElement>(): [RefObject<T | null>, (find: Find<T>) => void] {
  const place = useRef<T>(null);
  const wanted = useRef<Find<T>>(undefined);
  useEffect(() => {
    const find = wanted.current;
    if (find === undefined || place.current === null) return;
    wanted.current = undefined;
    find(place.current)?.focus();
  });
  const focusLater = (find: Find<T>) => {
    wanted.current = find;
  };
  return [place, focusLater];
}
