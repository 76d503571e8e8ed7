import { useVirtualizer } from '@tanstack/react-virtual';
import { type ReactNode, useEffect, useRef, useState } from 'react';
import { usePreferences } from '../../base/preference-store.js';
import { Refusal } from '../../design/refusal.js';
import { Icon } from '../../icons/icon.js';
import { useCommonWords } from '../../words/common.js';
import { useWords } from '../../words/dictionary.js';
import { numberText, sizeText } from '../../words/formats.js';
import { LogSearch, useLogSearch } from './log-search.js';
import type { LogText } from './log-text.js';
import { classesOf, styledLine } from './sgr.js';
import { type LogState, useLog } from './use-log.js';
import { usePlace } from './use-place.js';
import { de } from './words-de.js';
import { en } from './words-en.js';

const LINE_HEIGHT = 20;
const OVERSCAN = 20;
/** Lines that one scroll bar reaches: browsers limit the height of an element. */
const SECTION_LINES = 400_000;
/** Distance from the end, in pixels, within which the reader is at the end. */
const AT_END = 4;
/** Marks of hits in one line: a line may be thousands of dots. */
const MAX_MARKS = 50;

interface LogViewProps {
  readonly id: string;
  readonly hasEnded: boolean;
  /** Whether its end is shown at first. */
  readonly isEndFirst: boolean;
  readonly isWaiting: boolean;
  readonly hasRun: boolean;
  readonly onDownload: () => void;
}

/** The log of a task: live, in its colors, with a search over all of it. */
export function LogView({ id, hasEnded, isEndFirst, isWaiting, hasRun, onDownload }: LogViewProps) {
  const words = useWords<typeof en>({ en, de });
  const common = useCommonWords();
  const [{ language }] = usePreferences();
  const [{ line }, change] = usePlace();
  const log = useLog(id, hasEnded, {
    skipped: (bytes) => words.skipped(sizeText(bytes, language)),
    newAttempt: (attempt) => words.newAttempt(String(attempt)),
  });
  const noneAtEnd = hasRun ? words.noLog : words.noLogNeverRan;
  const noneBefore = hasEnded ? common.loading : words.noLogYet;
  const none = isWaiting ? words.noLogWaiting : log.isComplete ? noneAtEnd : noneBefore;
  return (
    <>
      {log.error && <Refusal words={words.logAway} error={log.error} />}
      <LogPane
        log={log}
        none={none}
        isFollowedAtFirst={isEndFirst && line === undefined}
        onDownload={onDownload}
        line={line}
        onLine={(wanted) => change({ line: wanted })}
      />
    </>
  );
}

interface LogPaneProps {
  readonly log: LogState;
  /** Words in the place of a log without lines. */
  readonly none: string;
  readonly isFollowedAtFirst: boolean;
  readonly onDownload: () => void;
  /** Line that the address names, counted from 1. */
  readonly line?: number | undefined;
  /** Called with a line whose number is pressed; without it, lines have no address. */
  readonly onLine?: (line: number) => void;
  /** More controls of the bar. */
  readonly children?: ReactNode;
}

/** A log with its search, at its end while it is followed. */
export function LogPane({
  log: { text, version, isComplete },
  none,
  isFollowedAtFirst,
  onDownload,
  line,
  onLine,
  children,
}: LogPaneProps) {
  const words = useWords<typeof en>({ en, de });
  const [{ language, wrapLines }, changePreferences] = usePreferences();
  const [isFollowing, setFollowing] = useState(isFollowedAtFirst);
  const search = useLogSearch(text, version);
  const isThere = line !== undefined && line <= text.lines;
  return (
    <section className="log card" aria-label={words.log}>
      <header className="log-bar">
        <LogSearch search={search} isCut={text.gap !== undefined} onHit={() => setFollowing(false)} />
        {children}
        <span className="faint numbers lines">{words.lines(numberText(text.lines, language))}</span>
        <button
          type="button"
          className="button plain"
          title={words.wrap}
          aria-pressed={wrapLines}
          onClick={() => changePreferences({ wrapLines: !wrapLines })}
        >
          <Icon name="text-wrap" />
          <span className="word">{words.wrap}</span>
        </button>
        {!isComplete && (
          <button
            type="button"
            className="button plain"
            title={words.follow}
            aria-pressed={isFollowing}
            onClick={() => setFollowing(!isFollowing)}
          >
            <Icon name="arrow-down-to-line" />
            <span className="word">{words.follow}</span>
          </button>
        )}
        <button type="button" className="button plain" title={words.download} onClick={onDownload}>
          <Icon name="download" />
          <span className="word">{words.download}</span>
        </button>
      </header>
      {text.gap && (
        <p className="notice">
          <Icon name="info" />
          {words.gap(sizeText(text.gap.bytes, language), numberText(text.gap.line + 1, language))}
        </p>
      )}
      {text.lines === 0 ? (
        <p className="log-none faint">{none}</p>
      ) : (
        <LogLines
          text={text}
          hit={search.hit ?? (isThere ? line - 1 : undefined)}
          wanted={search.wanted}
          onLine={
            onLine &&
            ((number) => {
              setFollowing(false);
              onLine(number);
            })
          }
          isFollowing={isFollowing}
          onScrolledAway={() => setFollowing(false)}
          onScrolledToEnd={() => setFollowing(true)}
        />
      )}
      {text.isFull && <p className="log-none">{words.tooLong}</p>}
    </section>
  );
}

interface LogLinesProps {
  readonly text: LogText;
  /** Line that the search is at, or the address names. */
  readonly hit: number | undefined;
  readonly wanted: string;
  readonly onLine: ((line: number) => void) | undefined;
  readonly isFollowing: boolean;
  readonly onScrolledAway: () => void;
  readonly onScrolledToEnd: () => void;
}

function LogLines(props: LogLinesProps) {
  const { text, hit, wanted, onLine, isFollowing, onScrolledAway, onScrolledToEnd } = props;
  const words = useWords<typeof en>({ en, de });
  const [{ wrapLines }] = usePreferences();
  const scroller = useRef<HTMLDivElement>(null);
  const sections = Math.ceil(text.lines / SECTION_LINES);
  const [chosen, setChosen] = useState(0);
  const section = isFollowing ? sections - 1 : Math.min(chosen, sections - 1);
  const first = section * SECTION_LINES;
  const count = Math.min(SECTION_LINES, text.lines - first);
  const virtual = useVirtualizer({
    count,
    getScrollElement: () => scroller.current,
    estimateSize: () => LINE_HEIGHT,
    overscan: OVERSCAN,
  });
  // Heights that were measured in the other form no longer hold.
  useEffect(() => {
    if (!wrapLines) virtual.measure();
  }, [wrapLines, virtual]);
  useEffect(() => {
    if (isFollowing && count > 0) virtual.scrollToIndex(count - 1, { align: 'end' });
  }, [isFollowing, count, virtual]);
  useEffect(() => {
    if (hit === undefined) return;
    setChosen(Math.floor(hit / SECTION_LINES));
    virtual.scrollToIndex(hit % SECTION_LINES, { align: 'center' });
  }, [hit, virtual]);
  const onWheel = (deltaY: number) => {
    const element = scroller.current;
    if (element === null) return;
    const toEnd = element.scrollHeight - element.clientHeight - element.scrollTop;
    if (deltaY < 0) onScrolledAway();
    else if (toEnd - deltaY < AT_END && section === sections - 1) onScrolledToEnd();
  };
  return (
    <>
      {sections > 1 && (
        <Sections
          count={sections}
          at={section}
          onChange={(at) => {
            onScrolledAway();
            setChosen(at);
          }}
        />
      )}
      <div
        className="log-lines"
        ref={scroller}
        role="group"
        aria-label={words.log}
        tabIndex={0}
        onWheel={({ deltaY }) => onWheel(deltaY)}
        onKeyDown={({ key }) => {
          if (['ArrowUp', 'PageUp', 'Home'].includes(key)) onScrolledAway();
          if (key === 'End') onScrolledToEnd();
        }}
      >
        <div className="log-space" style={{ height: virtual.getTotalSize() }}>
          {virtual.getVirtualItems().map(({ index, start }) => (
            <Line
              key={index}
              index={index}
              measure={wrapLines ? virtual.measureElement : undefined}
              text={text}
              number={first + index}
              start={start}
              isHit={first + index === hit}
              wanted={wanted}
              onLine={onLine}
            />
          ))}
        </div>
      </div>
    </>
  );
}

interface LineProps {
  /** Place among the lines of the section. */
  readonly index: number;
  /** Measures the height of a wrapped line. */
  readonly measure: ((element: HTMLElement | null) => void) | undefined;
  readonly text: LogText;
  readonly number: number;
  readonly start: number;
  readonly isHit: boolean;
  readonly wanted: string;
  readonly onLine: ((line: number) => void) | undefined;
}

/** One line, as text nodes only: nothing that a program prints becomes markup. */
function Line({ index, measure, text, number, start, isHit, wanted, onLine }: LineProps) {
  const words = useWords<typeof en>({ en, de });
  const [{ language }] = usePreferences();
  const { text: line, style, hiddenCharacters } = text.line(number);
  const { parts } = styledLine(line, style);
  return (
    <div
      ref={measure}
      data-index={index}
      className={`log-line ${isHit ? 'hit' : ''} ${measure ? 'wrapped' : ''}`}
      style={{ transform: `translateY(${start}px)` }}
    >
      <LineNumber number={number + 1} onLine={onLine} />
      <span className="content">
        {parts.map((part, at) => (
          <span key={at} className={classesOf(part.style)}>
            <Marked text={part.text} wanted={wanted} />
          </span>
        ))}
        {hiddenCharacters > 0 && <i className="faint"> {words.cut(sizeText(hiddenCharacters, language))}</i>}
      </span>
    </div>
  );
}

interface LineNumberProps {
  /** Counted from 1. */
  readonly number: number;
  readonly onLine: ((line: number) => void) | undefined;
}

/** Number of a line, which is a link to it where lines have an address. */
function LineNumber({ number, onLine }: LineNumberProps) {
  if (onLine === undefined) {
    return (
      <span className="number" aria-hidden="true">
        {number}
      </span>
    );
  }
  return (
    <a
      className="number"
      tabIndex={-1}
      href={`?line=${number}`}
      onClick={(event) => {
        if (event.ctrlKey || event.metaKey || event.shiftKey) return;
        event.preventDefault();
        onLine(number);
      }}
    >
      {number}
    </a>
  );
}

/** The text with what is searched for marked in it. */
function Marked({ text, wanted }: { readonly text: string; readonly wanted: string }) {
  if (wanted === '') return text;
  const lower = text.toLowerCase();
  const parts: (string | { mark: string; at: number })[] = [];
  let from = 0;
  for (
    let at = lower.indexOf(wanted);
    at >= 0 && parts.length < 2 * MAX_MARKS;
    at = lower.indexOf(wanted, from)
  ) {
    parts.push(text.slice(from, at), { mark: text.slice(at, at + wanted.length), at });
    from = at + wanted.length;
  }
  parts.push(text.slice(from));
  return parts.map((part) => (typeof part === 'string' ? part : <mark key={part.at}>{part.mark}</mark>));
}

interface SectionsProps {
  readonly count: number;
  readonly at: number;
  readonly onChange: (section: number) => void;
}

/** Choice of the part of a very long log. */
function Sections({ count, at, onChange }: SectionsProps) {
  const words = useWords<typeof en>({ en, de });
  const [{ language }] = usePreferences();
  return (
    <select
      className="input sections"
      aria-label={words.lines('')}
      value={at}
      onChange={(event) => onChange(Number(event.target.value))}
    >
      {Array.from({ length: count }, (_, section) => (
        <option key={section} value={section}>
          {words.lines(
            `${numberText(section * SECTION_LINES + 1, language)} – ${numberText((section + 1) * SECTION_LINES, language)}`,
          )}
        </option>
      ))}
    </select>
  );
}
