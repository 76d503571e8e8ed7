import { useNow } from '../base/clock.js';
import { usePreferences } from '../base/preference-store.js';
import { absoluteText, durationText, relativeText } from '../words/formats.js';

/** A moment, relative or absolute as the reader prefers; the other one, with its zone, comes as a title. */
export function Time({ at }: { readonly at: string }) {
  const [{ language, times }] = usePreferences();
  const nowMs = useNow();
  const atMs = Date.parse(at);
  const relative = relativeText(atMs, nowMs, language);
  const isRelative = times === 'relative';
  return (
    <time
      dateTime={at}
      className="numbers"
      title={`${absoluteText(atMs, nowMs, language, true)}${isRelative ? '' : ` (${relative})`}`}
    >
      {isRelative ? relative : absoluteText(atMs, nowMs, language)}
    </time>
  );
}

/** Time between two moments; up to now without an end. */
export function Duration({ from, to }: { readonly from: string; readonly to?: string | undefined }) {
  const [{ language }] = usePreferences();
  const nowMs = useNow();
  const endMs = to === undefined ? nowMs : Date.parse(to);
  return <span className="numbers">{durationText(endMs - Date.parse(from), language)}</span>;
}
