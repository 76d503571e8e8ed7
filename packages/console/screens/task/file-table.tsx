import { useVirtualizer } from '@tanstack/react-virtual';
import { type CSSProperties, useEffect, useRef } from 'react';
import { usePreferences } from '../../base/preference-store.js';
import type { Saving } from '../../base/use-saving.js';
import { Icon } from '../../icons/icon.js';
import { useWords } from '../../words/dictionary.js';
import { sizeText } from '../../words/formats.js';
import type { PreviewedFile } from './preview/previewed-file.js';
import { de } from './words-de.js';
import { en } from './words-en.js';

const ROW_HEIGHT = 41;
const OVERSCAN = 10;

interface FileTableProps {
  readonly title: string;
  readonly files: readonly PreviewedFile[];
  /** Name of the file whose preview is shown. */
  readonly shown: string | undefined;
  /** Called with the file to show, and what returns the focus to its row. */
  readonly onShow: (name: string, focusAgain: () => void) => void;
  readonly saving: Saving;
}

/** Files to choose from, of which only the visible rows are in the page: a task may have 20,000. */
export function FileTable({ title, files, shown, onShow, saving }: FileTableProps) {
  const words = useWords<typeof en>({ en, de });
  const scroller = useRef<HTMLDivElement>(null);
  const virtual = useVirtualizer({
    count: files.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => ROW_HEIGHT,
    overscan: OVERSCAN,
  });
  const rows = virtual.getVirtualItems();
  const shownAt = files.findIndex(({ name }) => name === shown);
  useEffect(() => {
    if (shownAt >= 0) virtual.scrollToIndex(shownAt);
  }, [shownAt, virtual]);
  const focusRow = (button: HTMLButtonElement) => (button.isConnected ? button : scroller.current)?.focus();
  /** Height of the rows that are not in the page. */
  const space: CSSProperties = {
    paddingTop: rows[0]?.start ?? 0,
    paddingBottom: virtual.getTotalSize() - (rows.at(-1)?.end ?? 0),
  };
  return (
    <div className="files-scroller" ref={scroller} tabIndex={-1}>
      <div style={space}>
        <table className="plain-table files" aria-rowcount={files.length + 1}>
          <thead>
            <tr aria-rowindex={1}>
              <th scope="col">{title}</th>
              <th scope="col" className="size">
                {words.size}
              </th>
              <th scope="col">
                <span className="visually-hidden">{words.download}</span>
              </th>
            </tr>
          </thead>
          <tbody>
            {rows.map(({ index }) => {
              const file = files[index];
              return (
                file && (
                  <FileRow
                    key={file.name}
                    index={index}
                    measure={virtual.measureElement}
                    file={file}
                    isShown={file.name === shown}
                    onShow={(button) => onShow(file.name, () => focusRow(button))}
                    isSaving={saving.saving === file.name}
                    onSave={() => void saving.save(file.name, file.fetch)}
                  />
                )
              );
            })}
          </tbody>
        </table>
      </div>
    </div>
  );
}

interface FileRowProps {
  readonly index: number;
  /** Measures the height of the row: a long path takes several lines. */
  readonly measure: (row: HTMLTableRowElement | null) => void;
  readonly file: PreviewedFile;
  readonly isShown: boolean;
  readonly onShow: (button: HTMLButtonElement) => void;
  readonly isSaving: boolean;
  readonly onSave: () => void;
}

function FileRow({ index, measure, file: { name, size }, isShown, isSaving, onShow, onSave }: FileRowProps) {
  const words = useWords<typeof en>({ en, de });
  const [{ language }] = usePreferences();
  return (
    <tr aria-rowindex={index + 2} data-index={index} ref={measure}>
      <th scope="row">
        <button
          type="button"
          className="button plain show-file"
          aria-expanded={isShown}
          onClick={(event) => onShow(event.currentTarget)}
        >
          <Icon name="file-text" /> <span className="path">{name}</span>
        </button>
      </th>
      <td className="size numbers">{sizeText(size, language)}</td>
      <td>
        <button
          type="button"
          className="button plain only-icon"
          aria-label={`${words.download}: ${name}`}
          disabled={isSaving}
          onClick={onSave}
        >
          <Icon name={isSaving ? 'loader-circle' : 'download'} className={isSaving ? 'turning' : ''} />
        </button>
      </td>
    </tr>
  );
}
