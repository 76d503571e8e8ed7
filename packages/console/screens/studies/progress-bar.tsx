import type { StudyItem } from '@workbench-hub/client';
import type { CSSProperties } from 'react';
import { usePreferences } from '../../base/preference-store.js';
import { useWords } from '../../words/dictionary.js';
import { numberText } from '../../words/formats.js';
import { endedCount, failedCount } from './progress.js';
import { de } from './words-de.js';
import { en } from './words-en.js';

/** Points of a study that have ended, as a bar with the share of failed ones, and in words. */
export function ProgressBar({ study: { name, points } }: { readonly study: StudyItem }) {
  const words = useWords<typeof en>({ en, de });
  const [{ language }] = usePreferences();
  const ended = endedCount(points);
  const failed = failedCount(points);
  const text = words.progressOf(numberText(ended, language), numberText(points.total, language));
  const failedText = failed === 0 ? '' : words.failedOf(numberText(failed, language));
  const share = (count: number): CSSProperties => ({
    width: `${(100 * count) / Math.max(points.total, 1)}%`,
  });
  return (
    <div className="study-progress">
      <div
        className="study-bar"
        role="progressbar"
        aria-label={words.progressOfStudy(name)}
        aria-valuemin={0}
        aria-valuemax={points.total}
        aria-valuenow={ended}
        aria-valuetext={failed === 0 ? text : `${text}, ${failedText}`}
      >
        <span className="of-finished" style={share(points.FINISHED + points.REUSED)} />
        <span className="of-failed" style={share(failed)} />
        <span className="of-canceled" style={share(points.CANCELED)} />
      </div>
      <span className="numbers" aria-hidden="true">
        {text}
        {failed > 0 && <span className="study-failed">, {failedText}</span>}
      </span>
    </div>
  );
}
