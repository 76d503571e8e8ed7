import { useEffect, useRef, useState } from 'react';
import { usePreferences } from '../../base/preference-store.js';
import { Icon } from '../../icons/icon.js';
import { useWords } from '../../words/dictionary.js';
import { numberText } from '../../words/formats.js';
import type { LogText } from './log-text.js';
import { RepeatedSearch } from './repeated-search.js';
import { de } from './words-de.js';
import { en } from './words-en.js';

const MAX_HITS = 10_000;
const TYPING_MS = 200;

export interface LogSearchState {
  readonly typed: string;
  /** In lower case; empty when nothing is searched. */
  readonly wanted: string;
  readonly hits: readonly number[];
  readonly at: number;
  /** Line of the present hit. */
  readonly hit: number | undefined;
  type(text: string): void;
  go(step: number): void;
}

/** The search over all lines of a log. */
export function useLogSearch(text: LogText, version: number): LogSearchState {
  const [typed, setTyped] = useState('');
  /** Text that counts, since nothing was typed for a while. */
  const [sought, setSought] = useState('');
  const [found, setFound] = useState<{ wanted: string; hits: readonly number[] }>({ wanted: '', hits: [] });
  const [at, setAt] = useState(0);
  const search = useRef<RepeatedSearch>(undefined);
  useEffect(() => {
    const timer = setTimeout(() => setSought(typed), typed === '' ? 0 : TYPING_MS);
    return () => clearTimeout(timer);
  }, [typed]);
  useEffect(() => {
    if (sought === '') {
      setFound({ wanted: '', hits: [] });
      return;
    }
    const searching = new RepeatedSearch(
      (signal) => text.search(sought, MAX_HITS, signal),
      (hits) => setFound({ wanted: sought.toLowerCase(), hits }),
    );
    search.current = searching;
    return () => {
      search.current = undefined;
      searching.close();
    };
  }, [sought, text]);
  // A log that grows all the time is searched all the same: the search that runs is not begun anew.
  useEffect(() => void search.current?.again(), [sought, text, version]);
  const { hits, wanted } = found;
  return {
    typed,
    wanted,
    hits,
    at: Math.min(at, Math.max(hits.length - 1, 0)),
    hit: hits[Math.min(at, hits.length - 1)],
    type: (each) => {
      setTyped(each);
      setAt(0);
    },
    go: (step) => hits.length > 0 && setAt((at + step + hits.length) % hits.length),
  };
}

/** Field, number of hits, and the way through them. */
export function LogSearch({
  search,
  isCut,
  onHit,
}: {
  readonly search: LogSearchState;
  /** Whether lines are missing, which the search cannot find. */
  readonly isCut: boolean;
  readonly onHit: () => void;
}) {
  const words = useWords<typeof en>({ en, de });
  const [{ language }] = usePreferences();
  const { typed, wanted, hits, at } = search;
  const go = (step: number) => {
    onHit();
    search.go(step);
  };
  return (
    <search className="log-search">
      <span className="with-icon">
        <Icon name="search" />
        <input
          type="search"
          className="input"
          aria-label={words.searchLog}
          placeholder={words.searchLog}
          value={typed}
          onChange={(event) => {
            onHit();
            search.type(event.target.value);
          }}
          onKeyDown={(event) => {
            if (event.key === 'Enter') go(event.shiftKey ? -1 : 1);
          }}
        />
      </span>
      {wanted !== '' && (
        <span className="numbers quiet" role="status">
          {hits.length === 0
            ? isCut
              ? words.noHitInKept
              : words.noHit
            : words.hit(
                numberText(at + 1, language),
                `${numberText(hits.length, language)}${hits.length === MAX_HITS ? '+' : ''}`,
              )}
        </span>
      )}
      {hits.length > 1 && (
        <>
          <button
            type="button"
            className="button plain only-icon"
            aria-label={words.previous}
            onClick={() => go(-1)}
          >
            <Icon name="chevron-left" />
          </button>
          <button
            type="button"
            className="button plain only-icon"
            aria-label={words.next}
            onClick={() => go(1)}
          >
            <Icon name="chevron-right" />
          </button>
        </>
      )}
    </search>
  );
}
