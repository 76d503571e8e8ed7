import { useState } from 'react';
import { usePreferences } from '../base/preference-store.js';
import { Icon } from '../icons/icon.js';
import { useCommonWords } from '../words/common.js';
import { numberText } from '../words/formats.js';

export interface ShownPart<T> {
  readonly shown: readonly T[];
  /** Number of items that are not shown. */
  readonly left: number;
  showMore(): void;
}

/** The beginning of a list that may be long, since a page with tens of thousands of elements stands still. */
export function useShownPart<T>(items: readonly T[], step: number): ShownPart<T> {
  const [length, setLength] = useState(step);
  return {
    shown: items.slice(0, length),
    left: Math.max(0, items.length - length),
    showMore: () => setLength(length + step),
  };
}

/** The button for the next part of a long list; nothing at its end. */
export function ShowMore({ left, showMore }: Pick<ShownPart<unknown>, 'left' | 'showMore'>) {
  const words = useCommonWords();
  const [{ language }] = usePreferences();
  if (left === 0) return null;
  return (
    <button type="button" className="button plain show-more" onClick={showMore}>
      <Icon name="chevron-down" />
      {words.showMore(numberText(left, language))}
    </button>
  );
}
