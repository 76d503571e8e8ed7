import { type KeyboardEvent, type RefObject, useEffect, useRef } from 'react';

/** Handler of the keys that lead from row to row: the row they lead to is scrolled to, and its link gets the focus. */
export function useRowKeys(
  scroller: RefObject<HTMLElement | null>,
  rowCount: number,
  scrollTo: (index: number) => void,
): (event: KeyboardEvent) => void {
  /** Index of the row that the keys lead to; it may be in the page after a later rendering only. */
  const wanted = useRef<number | undefined>(undefined);
  const focusWanted = () => {
    if (wanted.current === undefined) return;
    const link = scroller.current?.querySelector<HTMLElement>(`[data-index="${wanted.current}"] a`);
    if (!link) return;
    wanted.current = undefined;
    const { activeElement, body } = document;
    // The row that had the focus may have left the page meanwhile.
    const isFree = activeElement === body || scroller.current?.contains(activeElement);
    if (isFree) link.focus({ preventScroll: true });
  };
  useEffect(focusWanted);
  return (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1, PageDown: 10, PageUp: -10 }[event.key];
    const row = (event.target as HTMLElement).closest<HTMLElement>('[data-index]');
    if (step === undefined || row === null) return;
    event.preventDefault();
    const to = Math.max(0, Math.min(rowCount - 1, Number(row.dataset['index']) + step));
    wanted.current = to;
    scrollTo(to);
    focusWanted();
  };
}
