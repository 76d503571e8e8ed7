import type { UploadProgress } from '@workbench-hub/client';
import { usePreferences } from '../../base/preference-store.js';
import { useWords } from '../../words/dictionary.js';
import { sizeText } from '../../words/formats.js';
import { de } from './words-de.js';
import { en } from './words-en.js';

interface SendingProps {
  /** State of the large file that is being sent; undefined while there is none. */
  readonly progress: UploadProgress | undefined;
  readonly onStop: () => void;
}

/** A job on its way to the hub: the part of a large file that is sent, and the button that stops it. */
export function Sending({ progress, onStop }: SendingProps) {
  const words = useWords<typeof en>({ en, de });
  const [{ language }] = usePreferences();
  return (
    <>
      {progress && (
        <label className="hand-in-progress">
          <span className="faint numbers">
            {words.sent(sizeText(progress.bytes, language), sizeText(progress.totalBytes, language))}
          </span>
          <progress max={progress.totalBytes} value={progress.bytes} />
        </label>
      )}
      <button type="button" className="button" onClick={onStop}>
        {words.stop}
      </button>
    </>
  );
}
